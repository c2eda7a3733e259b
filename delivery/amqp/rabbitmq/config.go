package rabbitmq

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"schakel/delivery/freeport"
)

// Certificates identify a node on its TLS port, as PEM; clients must show one of
// the authority's to log in by SASL EXTERNAL, by its common name.
type Certificates struct {
	Authority, Certificate, Key []byte
}

type ports struct{ amqp, amqps, management, distribution, epmd int }

// newPorts finds free ports. Another may take one before the node does.
func newPorts() (ports, error) {
	found, err := freeport.Find(5)
	if err != nil {
		return ports{}, err
	}
	return ports{amqp: found[0], amqps: found[1], management: found[2], distribution: found[3], epmd: found[4]}, nil
}

// configure writes the files a node reads; inner is the folder as the node sees it.
func (n *Node) configure(inner string) error {
	files := map[string][]byte{
		"rabbitmq.conf": []byte(n.config(inner)), "enabled_plugins": []byte(n.installation.Version.plugins()),
	}
	if n.tls != nil {
		files["ca.pem"], files["cert.pem"], files["key.pem"] = n.tls.Authority, n.tls.Certificate, n.tls.Key
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(n.dir, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) config(inner string) string {
	lines := []string{
		"listeners.tcp.1 = " + loopback(n.ports.amqp),
		"management.tcp.ip = 127.0.0.1",
		"management.tcp.port = " + strconv.Itoa(n.ports.management),
		"collect_statistics_interval = 500",
		"log.console = true",
		"log.console.level = warning",
		"disk_free_limit.absolute = 50MB",
		"raft.wal_max_size_bytes = 32000000",
	}
	if n.tls != nil {
		lines = append(lines,
			"listeners.ssl.1 = "+loopback(n.ports.amqps),
			"ssl_options.cacertfile = "+inner+"/ca.pem",
			"ssl_options.certfile = "+inner+"/cert.pem",
			"ssl_options.keyfile = "+inner+"/key.pem",
			"ssl_options.verify = verify_peer",
			"ssl_options.fail_if_no_peer_cert = false",
			"auth_mechanisms.1 = EXTERNAL", "auth_mechanisms.2 = PLAIN", "auth_mechanisms.3 = AMQPLAIN",
			"ssl_cert_login_from = common_name")
	}
	return strings.Join(lines, "\n") + "\n"
}
