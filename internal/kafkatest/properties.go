package kafkatest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"weir/internal/await"
)

// Names of the listeners every broker has: the clients', the brokers' own
// (never advertised through a proxy) and the controllers'.
const (
	plaintext  = "PLAINTEXT"
	inner      = "INNER"
	controller = "CONTROLLER"
)

// configure lays out one directory per broker with its server.properties.
func (k *Cluster) configure(c Config) error {
	n := max(c.Brokers, 1)
	taken := make(map[int]bool)
	names := []string{plaintext, inner, controller}
	for _, l := range c.Listeners {
		if slices.Contains(names, l.Name) || l.Name != strings.ToUpper(l.Name) {
			return fmt.Errorf("kafkatest: listener %q: its name must be new and upper case", l.Name)
		}
		names = append(names, l.Name)
	}
	var voters []string
	for id := 1; id <= n; id++ {
		b := &broker{id: id, dir: filepath.Join(k.dir, strconv.Itoa(id)), ports: make(map[string]int)}
		for _, name := range names {
			port, err := freePort(taken)
			if err != nil {
				return err
			}
			b.ports[name] = port
		}
		voters = append(voters, fmt.Sprintf("%d@127.0.0.1:%d", id, b.ports[controller]))
		k.brokers = append(k.brokers, b)
	}
	for user, password := range c.Users {
		for _, mechanism := range []string{"SCRAM-SHA-256", "SCRAM-SHA-512"} {
			k.format += fmt.Sprintf("--add-scram\n%s=[name=%s,password=%s]\n", mechanism, user, password)
		}
	}
	k.format = strings.TrimSuffix(k.format, "\n")
	for _, b := range k.brokers {
		if err := os.MkdirAll(b.dir, 0o700); err != nil {
			return err
		}
		p := b.properties(c, n, strings.Join(voters, ","), k.TLS)
		if err := os.WriteFile(filepath.Join(b.dir, "server.properties"), []byte(sortedLines(p)), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (b *broker) properties(c Config, n int, voters string, tls *Certificate) map[string]string {
	var listen, advertise, security []string
	add := func(name, protocol, to string) {
		addr := "127.0.0.1:" + strconv.Itoa(b.ports[name])
		listen = append(listen, name+"://"+addr)
		security = append(security, name+":"+protocol)
		if to == "" {
			to = addr
		}
		if name != controller {
			advertise = append(advertise, name+"://"+to)
		}
	}
	add(plaintext, "PLAINTEXT", c.Advertise)
	add(inner, "PLAINTEXT", "")
	add(controller, "PLAINTEXT", "")
	for _, l := range c.Listeners {
		add(l.Name, l.Security, l.Advertise)
	}
	replicas := strconv.Itoa(min(n, 3))
	inSync := strconv.Itoa((min(n, 3) + 1) / 2)
	p := map[string]string{
		"process.roles":                  "broker,controller",
		"node.id":                        strconv.Itoa(b.id),
		"listeners":                      strings.Join(listen, ","),
		"advertised.listeners":           strings.Join(advertise, ","),
		"listener.security.protocol.map": strings.Join(security, ","),
		"inter.broker.listener.name":     inner,
		"controller.listener.names":      controller,
		"controller.quorum.voters":       voters,
		"log.dirs":                       filepath.Join(b.dir, "data"),
		"auto.create.topics.enable":      "false",

		"default.replication.factor":                       replicas,
		"min.insync.replicas":                              inSync,
		"offsets.topic.replication.factor":                 replicas,
		"offsets.topic.num.partitions":                     "3",
		"transaction.state.log.replication.factor":         replicas,
		"transaction.state.log.min.isr":                    inSync,
		"transaction.state.log.num.partitions":             "3",
		"share.coordinator.state.topic.replication.factor": replicas,
		"share.coordinator.state.topic.min.isr":            "1",

		// Waits that production needs and a test does not: 3 s before a group's first
		// join, 9 s before a killed broker may register again, a minute before the
		// files of a deleted topic vanish.
		"group.initial.rebalance.delay.ms":  "0",
		"group.min.session.timeout.ms":      "500",
		"broker.heartbeat.interval.ms":      "300",
		"broker.session.timeout.ms":         "1500",
		"log.segment.delete.delay.ms":       "1000",
		"log.cleaner.dedupe.buffer.size":    "8388608",
		"num.recovery.threads.per.data.dir": "2",

		// A minute, the default, is not enough on a machine with forty times more work than
		// processors.
		"initial.broker.registration.timeout.ms": strconv.FormatInt(await.Never.Milliseconds(), 10),

		// An idle broker should cost little, because many run beside a test: no idle
		// record twice a second, and few threads, each of which wakes up three times
		// a second. This and Steady take an idle broker from 5 % of a processor to
		// 1.3 %.
		"metadata.max.idle.interval.ms": "0",
		"num.io.threads":                "2",
		"num.network.threads":           "1",
	}
	if c.Steady {
		p["broker.heartbeat.interval.ms"] = "2000"
		p["broker.session.timeout.ms"] = "60000"
	}
	if len(c.Racks) > 0 {
		p["broker.rack"] = c.Racks[b.id-1]
		p["replica.selector.class"] = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
	}
	secure(p, c, tls)
	for name, value := range c.Properties {
		p[name] = value
	}
	return p
}

// oneLine writes a PEM block as the value of a Java property.
func oneLine(pem []byte) string {
	return strings.ReplaceAll(strings.TrimSpace(string(pem)), "\n", `\n`)
}

// secure adds the TLS and SASL properties of the further listeners.
func secure(p map[string]string, c Config, tls *Certificate) {
	for _, l := range c.Listeners {
		if strings.HasSuffix(l.Security, "SSL") {
			p["ssl.keystore.type"] = "PEM"
			p["ssl.keystore.certificate.chain"] = oneLine(tls.CertPEM)
			p["ssl.keystore.key"] = oneLine(tls.KeyPEM)
		}
		if strings.HasPrefix(l.Security, "SASL") {
			p["sasl.enabled.mechanisms"] = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER"
			at := "listener.name." + strings.ToLower(l.Name) + "."
			users := ""
			for user, password := range c.Users {
				users += fmt.Sprintf(" user_%s=%q", user, password)
			}
			p[at+"plain.sasl.jaas.config"] = "org.apache.kafka.common.security.plain.PlainLoginModule required" + users + ";"
			// Tokens without a signature are accepted. A connection ends with its token.
			p[at+"oauthbearer.sasl.jaas.config"] = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub=\"broker\";"
			p[at+"oauthbearer.connections.max.reauth.ms"] = "3600000"
			for _, m := range []string{"scram-sha-256", "scram-sha-512"} {
				p[at+m+".sasl.jaas.config"] = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
			}
		}
	}
}
