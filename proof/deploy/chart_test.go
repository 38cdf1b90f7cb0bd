//go:build prove

package deploy

import (
	"fmt"
	"maps"
	"os/exec"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// values are the settings of the chart by the path of a key.
type values map[string]any

func (v values) tree() map[string]any {
	tree := map[string]any{}
	for path, value := range v {
		at := tree
		names := strings.Split(path, ".")
		for _, name := range names[:len(names)-1] {
			below, _ := at[name].(map[string]any)
			if below == nil {
				below = map[string]any{}
				at[name] = below
			}
			at = below
		}
		at[names[len(names)-1]] = value
	}
	return tree
}

// The types of the Prometheus operator, as far as the chart writes them.
type (
	serviceMonitor struct {
		metav1.TypeMeta
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Selector  metav1.LabelSelector `json:"selector"`
			Endpoints []struct {
				Port          string `json:"port"`
				Path          string `json:"path"`
				Interval      string `json:"interval"`
				Authorization *struct {
					Type        string                   `json:"type"`
					Credentials corev1.SecretKeySelector `json:"credentials"`
				} `json:"authorization"`
			} `json:"endpoints"`
		} `json:"spec"`
	}
	prometheusRule struct {
		metav1.TypeMeta
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Groups []struct {
				Name  string `json:"name"`
				Rules []struct {
					Alert       string            `json:"alert"`
					Expr        string            `json:"expr"`
					For         string            `json:"for"`
					Labels      map[string]string `json:"labels"`
					Annotations map[string]string `json:"annotations"`
				} `json:"rules"`
			} `json:"groups"`
		} `json:"spec"`
	}
)

// kinds are the types that the chart's objects have.
var kinds = map[string]func() any{
	"apps/v1 StatefulSet":                     func() any { return new(appsv1.StatefulSet) },
	"batch/v1 Job":                            func() any { return new(batchv1.Job) },
	"v1 ConfigMap":                            func() any { return new(corev1.ConfigMap) },
	"v1 Service":                              func() any { return new(corev1.Service) },
	"v1 ServiceAccount":                       func() any { return new(corev1.ServiceAccount) },
	"policy/v1 PodDisruptionBudget":           func() any { return new(policyv1.PodDisruptionBudget) },
	"monitoring.coreos.com/v1 ServiceMonitor": func() any { return new(serviceMonitor) },
	"monitoring.coreos.com/v1 PrometheusRule": func() any { return new(prometheusRule) },
}

// render returns the objects of the chart, decoded strictly, by kind and name.
func render(t *testing.T, c *chart.Chart, v values) map[string]any {
	t.Helper()
	release := chartutil.ReleaseOptions{Name: "weir", Namespace: "counting", Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(c, v.tree(), release, nil)
	if err != nil {
		t.Fatalf("%v: %v", v, err)
	}
	files, err := engine.Render(c, all)
	if err != nil {
		t.Fatalf("%v: %v", v, err)
	}
	objects := map[string]any{}
	for name, text := range files {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		for _, document := range strings.Split("\n"+text, "\n---\n") {
			var of struct {
				metav1.TypeMeta
				metav1.ObjectMeta `json:"metadata"`
			}
			if err := yaml.Unmarshal([]byte(document), &of); err != nil {
				t.Fatalf("%v: %s: %v\n%s", v, name, err, document)
			}
			if of.Kind == "" {
				continue
			}
			object := kinds[of.APIVersion+" "+of.Kind]
			if object == nil {
				t.Fatalf("%v: %s has a %s %s", v, name, of.APIVersion, of.Kind)
			}
			into := object()
			if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
				t.Errorf("%v: %s: %v\n%s", v, name, err, document)
			}
			key := of.Kind + " " + of.Name
			if objects[key] != nil {
				t.Errorf("%v: %s has %s twice", v, name, key)
			}
			objects[key] = into
		}
	}
	return objects
}

var secret = map[string]any{"name": "weir", "key": "password"}

// options are the ways in which the chart can be set, each as not at all and as other values.
var options = []values{
	{"serviceMonitor.enabled": true, "serviceMonitor.labels": map[string]any{"release": "prometheus"}},
	{"prometheusRule.enabled": true, "dashboards.enabled": true},
	{"secrets.WEIR_CLICKHOUSE_PASSWORD": secret, "secrets.WEIR_HTTP_TOKEN": secret, "image.pullSecrets": []any{map[string]any{"name": "registry"}}},
	{"migrate.enabled": false, "podDisruptionBudget.enabled": false, "serviceAccount.create": false, "serviceAccount.name": "other"},
	{"fixedMembers": false, "http.public": true, "resp.enabled": true},
	{"migrate.user": "admin", "migrate.secrets.WEIR_CLICKHOUSE_PASSWORD": map[string]any{"name": "admin", "key": "password"}, "replicas": 5},
	{"tolerations": []any{map[string]any{"key": "counting", "operator": "Exists"}}, "nodeSelector": map[string]any{"disk": "fast"}, "podAnnotations": map[string]any{"a": "b"}, "podLabels": map[string]any{"c": "d"}},
}

// TestChart: for every combination of options, each object is one that Kubernetes knows, without a key that it does not
// know; the pods may do nothing that they need not, and the hook has all that it mounts.
// In make test: TestChartValues.
func TestChart(t *testing.T) {
	c, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	for set := range 1 << len(options) {
		v := values{"config.jobs": []any{map[string]any{"name": "clicks", "topic": "clicks"}}}
		for i, o := range options {
			if set>>i&1 == 1 {
				maps.Copy(v, o)
			}
		}
		objects := render(t, c, v)
		pods := objects["StatefulSet weir"].(*appsv1.StatefulSet)
		templates := map[string]corev1.PodSpec{"weir": pods.Spec.Template.Spec}
		if job, there := objects["Job weir-migrate"].(*batchv1.Job); there != (v["migrate.enabled"] != false) {
			t.Fatalf("%v: a hook: %t", v, there)
		} else if there {
			templates["migrate"] = job.Spec.Template.Spec
		}
		for name, pod := range templates {
			container := pod.Containers[0]
			if !*pod.SecurityContext.RunAsNonRoot || pod.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault ||
				!*container.SecurityContext.ReadOnlyRootFilesystem || *container.SecurityContext.AllowPrivilegeEscalation || container.SecurityContext.Capabilities.Drop[0] != "ALL" {
				t.Errorf("%v: %s may do too much", v, name)
			}
			if config, is := objects["ConfigMap "+pod.Volumes[0].ConfigMap.Name].(*corev1.ConfigMap); !is || !strings.Contains(config.Data["weir.yaml"], "name: clicks") {
				t.Errorf("%v: %s has no configuration", v, name)
			}
			env := map[string]corev1.EnvVar{}
			for _, e := range container.Env {
				if _, twice := env[e.Name]; twice {
					t.Errorf("%v: %s has %s twice", v, name, e.Name)
				}
				env[e.Name] = e
			}
			password := env["WEIR_CLICKHOUSE_PASSWORD"]
			want := ""
			if v["secrets.WEIR_CLICKHOUSE_PASSWORD"] != nil {
				want = "weir"
			}
			if name == "migrate" && v["migrate.user"] != nil {
				want = "admin"
			}
			if got := password.ValueFrom; (got == nil) != (want == "") || got != nil && got.SecretKeyRef.Name != want {
				t.Errorf("%v: the password of %s is of %+v, want %q", v, name, got, want)
			}
			if member := env["WEIR_KAFKA_MEMBER"].Value; name == "weir" && v["fixedMembers"] == nil && member != fmt.Sprintf("$(WEIR_POD_INDEX)/%d", *pods.Spec.Replicas) {
				t.Errorf("%v: member %q", v, member)
			}
		}
		if rule, is := objects["PrometheusRule weir"].(*prometheusRule); is && (len(rule.Spec.Groups) == 0 || len(rule.Spec.Groups[0].Rules) < 10) {
			t.Errorf("%v: the rules are %+v", v, rule.Spec)
		}
	}
}

// TestChartRefuses: the schema of the values names what is wrong with them. In make test: TestChartValues.
func TestChartRefuses(t *testing.T) {
	c, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	for path, v := range map[string]values{
		"replicas":   {"replicas": 0},
		"replica":    {"replica": 2},
		"CLICKHOUSE": {"secrets.CLICKHOUSE": secret},
		"key":        {"secrets.WEIR_HTTP_TOKEN": map[string]any{"name": "weir"}},
	} {
		if _, err := chartutil.ToRenderValues(c, v.tree(), chartutil.ReleaseOptions{Name: "weir"}, nil); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%v: %v, want a word about %s", v, err, path)
		}
	}
}

// TestChartLint: Helm's own rules find nothing. In make test: TestChartValues.
func TestChartLint(t *testing.T) {
	lint := action.NewLint()
	lint.Strict = true
	result := lint.Run([]string{chartDir}, nil)
	for _, m := range result.Messages {
		if m.Severity > support.InfoSev {
			t.Error(m)
		}
	}
	for _, err := range result.Errors {
		t.Error(err)
	}
}

// TestUnit: systemd finds little that the service may do and need not. In make test: TestUnitFile.
func TestUnit(t *testing.T) {
	const most = "20" // tenths
	out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--threshold="+most, unitFile).CombinedOutput()
	if err != nil {
		t.Errorf("systemd-analyze: %v\n%s", err, out)
	}
}
