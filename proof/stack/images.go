package main

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"weir/demo/local"
)

// The stand-ins for images are built from what this machine has: Debian's packages,
// Maven's jars, the Go toolchain and its modules. No build step has a network.

const baseImage = "weir-stack/base"

// An image is one stand-in: a folder of this package with a Dockerfile, and further
// files of its build context.
type image struct {
	name  string            // weir-stack/NAME, and the folder
	files map[string]string // path in the build's context: file or directory here
	skip  []string          // paths in the context that are left out
}

// parts has the paths on this machine of what the stand-ins are made of.
type parts struct {
	base    string // a small Debian, as a tar
	jars    string // Kafka's
	library string // ClickHouse's
	proxy   string // the program in front of it
	goroot  string
	modules string // as a module proxy
}

// fetch fetches the parts that are missing.
func (e *engine) fetch(ctx context.Context) (p parts, err error) {
	if p.base, err = e.fetchBase(ctx); err != nil {
		return p, err
	}
	if p.jars, err = e.fetchKafka(ctx); err != nil {
		return p, err
	}
	if p.library, err = local.FindEngine(); err != nil {
		return p, err
	}
	p.proxy = filepath.Join(e.cache, "clickhouse")
	if err := command(ctx, append(os.Environ(), "CGO_ENABLED=0"), "go", "-C", "proof", "build", "-trimpath", "-o", p.proxy, "./stack/clickhouse"); err != nil {
		return p, err
	}
	if p.modules, err = e.fetchModules(ctx); err != nil {
		return p, err
	}
	p.goroot, err = output(ctx, os.Environ(), "go", "env", "GOROOT")
	return p, err
}

// buildImages makes the stand-ins that are missing or whose parts have changed.
func (e *engine) buildImages(ctx context.Context) error {
	p, err := e.fetch(ctx)
	if err != nil {
		return err
	}
	if e.run(ctx, "docker", "image", "inspect", baseImage) != nil {
		if err := e.run(ctx, "docker", "import", p.base, baseImage); err != nil {
			return err
		}
	}
	for _, i := range []image{
		{name: "kafka", files: map[string]string{"libs": p.jars, "bin/start.sh": "proof/stack/kafka/start.sh", "bin/kafka-topics.sh": "proof/stack/kafka/kafka-topics.sh"}},
		{name: "clickhouse", files: map[string]string{"clickhouse": p.proxy, "libchdb.so": p.library}},
		{name: "go", files: map[string]string{"go": p.goroot, "modules": p.modules}, skip: []string{"go/api", "go/doc", "go/misc", "go/src/cmd", "go/test"}},
	} {
		if err := e.build(ctx, i); err != nil {
			return fmt.Errorf("image %s: %w", i.name, err)
		}
	}
	return nil
}

// fetchBase makes the base image of the stand-ins: a small Debian of this machine's
// release, with a Java runtime.
func (e *engine) fetchBase(ctx context.Context) (string, error) {
	release, err := output(ctx, os.Environ(), "sh", "-c", ". /etc/os-release && echo $VERSION_CODENAME")
	if err != nil {
		return "", err
	}
	base := filepath.Join(e.cache, "base-"+release+".tar")
	if _, err := os.Stat(base); err == nil {
		return base, nil
	}
	if err := install(ctx, "mmdebstrap", "mmdebstrap"); err != nil {
		return "", err
	}
	say("making a base image of Debian %s (a minute, once)", release)
	part := base + ".part"
	if err := command(ctx, os.Environ(), "mmdebstrap", "--quiet", "--format=tar", "--variant=minbase",
		"--include=ca-certificates,wget,openjdk-17-jre-headless", release, part); err != nil {
		return "", err
	}
	return base, os.Rename(part, base)
}

// fetchKafka has Maven copy the jars of the image's version into the cache.
func (e *engine) fetchKafka(ctx context.Context) (string, error) {
	pom, err := os.ReadFile("proof/stack/kafka/pom.xml")
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(pom)
	jars := filepath.Join(e.cache, "kafka-"+hex.EncodeToString(sum[:4]))
	if _, err := os.Stat(jars); err == nil {
		return jars, nil
	}
	say("fetching Kafka's jars (54 MB, once)")
	part := jars + ".part"
	if err := os.RemoveAll(part); err != nil {
		return "", err
	}
	if err := command(ctx, os.Environ(), "mvn", "-q", "-B", "-f", "proof/stack/kafka/pom.xml",
		"org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory="+part); err != nil {
		return "", err
	}
	return jars, os.Rename(part, jars)
}

// keyed returns the directory in the cache of what depends on go.mod, go.sum and the version of
// Go. It removes those of before.
func (e *engine) keyed(name string) (dir string, exists bool, err error) {
	key := []byte(runtime.Version())
	for _, file := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", false, err
		}
		key = append(key, text...)
	}
	sum := sha256.Sum256(key)
	dir = filepath.Join(e.cache, name+"-"+hex.EncodeToString(sum[:4]))
	if _, err := os.Stat(dir); err == nil {
		return dir, true, nil
	}
	old, err := filepath.Glob(filepath.Join(e.cache, name+"-*"))
	if err != nil {
		return "", false, err
	}
	for _, o := range old {
		if err := os.RemoveAll(o); err != nil {
			return "", false, err
		}
	}
	return dir, false, nil
}

// fetchModules copies the modules of go.mod from this machine's module cache,
// in the layout of a module proxy.
func (e *engine) fetchModules(ctx context.Context) (string, error) {
	dir, exists, err := e.keyed("modules")
	proxy := filepath.Join(dir, "cache", "download")
	if err != nil || exists {
		return proxy, err
	}
	where, err := output(ctx, os.Environ(), "go", "env", "GOMODCACHE", "GOPROXY")
	if err != nil {
		return "", err
	}
	cache, online, _ := strings.Cut(where, "\n")
	part := dir + ".part"
	if err := command(ctx, append(os.Environ(), "GOMODCACHE="+part, "GOFLAGS=-modcacherw",
		"GOPROXY=file://"+cache+"/cache/download,"+online), "go", "mod", "download"); err != nil {
		return "", err
	}
	return proxy, os.Rename(part, dir)
}

// keyLabel holds what an image was built from.
const keyLabel = "weir.stack.key"

// build builds one image, unless it exists and its parts have not changed.
func (e *engine) build(ctx context.Context, i image) error {
	i.files["Dockerfile"] = filepath.Join("proof", "stack", i.name, "Dockerfile")
	base, err := e.output(ctx, "docker", "image", "inspect", "--format", "{{.Id}}", baseImage)
	if err != nil {
		return err
	}
	key, err := i.key(base)
	if err != nil {
		return err
	}
	name := "weir-stack/" + i.name
	if have, err := e.output(ctx, "docker", "image", "inspect", "--format", `{{index .Config.Labels "`+keyLabel+`"}}`, name); err == nil && have == key {
		return nil
	}
	say("building the image %s", name)
	env := e.env
	if e.run(ctx, "docker", "buildx", "version") != nil {
		env = append(slices.Clip(env), "DOCKER_BUILDKIT=0") // without a plugin, docker 23 and later has only this builder
	}
	c := exec.CommandContext(ctx, "docker", "build", "--network", "none", "--label", keyLabel+"="+key, "--tag", name, "-")
	c.Env = env
	from, to := io.Pipe()
	c.Stdin = from
	go func() { to.CloseWithError(i.context(to)) }()
	words, err := c.CombinedOutput()
	from.Close()
	if err != nil {
		return fmt.Errorf("docker build: %w\n%s", err, lastLines(string(words), 20))
	}
	return nil
}

// walk calls each for every file of the build context, in order.
func (i *image) walk(each func(name, file string, info fs.FileInfo) error) error {
	var names []string
	for name := range i.files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		root, err := filepath.EvalSymlinks(i.files[name])
		if err != nil {
			return err
		}
		err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			below, err := filepath.Rel(root, file)
			if err != nil {
				return err
			}
			inside := filepath.ToSlash(filepath.Join(name, below))
			switch {
			case slices.Contains(i.skip, inside):
				return filepath.SkipDir
			case d.IsDir():
				return nil
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			return each(inside, file, info)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// key returns a text that differs if the contents of the build context differ. It goes by
// the contents of files, because a build gives equal files new times; only the engine,
// which is large, goes by its size and time.
func (i *image) key(base string) (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, base, runtime.Version())
	err := i.walk(func(name, file string, info fs.FileInfo) error {
		if info.Size() > 100<<20 {
			_, err := fmt.Fprintln(sum, name, info.Mode(), info.Size(), info.ModTime().UnixNano())
			return err
		}
		text, err := os.ReadFile(file)
		fmt.Fprintf(sum, "%s %v %x\n", name, info.Mode(), sha256.Sum256(text))
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)), err
}

// context writes the build's context as a tar.
func (i *image) context(w io.Writer) error {
	t := tar.NewWriter(w)
	err := i.walk(func(name, file string, info fs.FileInfo) error {
		target := ""
		if info.Mode()&fs.ModeSymlink != 0 {
			var err error
			if target, err = os.Readlink(file); err != nil {
				return err
			}
		}
		h, err := tar.FileInfoHeader(info, target)
		if err != nil {
			return err
		}
		h.Name, h.Uid, h.Gid, h.Uname, h.Gname = name, 0, 0, "", ""
		if err := t.WriteHeader(h); err != nil || !info.Mode().IsRegular() {
			return err
		}
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(t, f)
		return err
	})
	return errors.Join(err, t.Close())
}
