package endpointcheck

import (
	"fmt"
	"slices"
	"strings"
)

// Level rates a part of TLS as NCSC "ICT-beveiligingsrichtlijnen voor TLS" 2025-05 does.
type Level string

// The levels, best first.
const (
	Good         Level = "good"
	Sufficient   Level = "sufficient"
	PhaseOut     Level = "phase-out"
	Insufficient Level = "insufficient"
)

// worse returns the lower of two levels.
func worse(a, b Level) Level {
	order := []Level{"", Good, Sufficient, PhaseOut, Insufficient}
	if slices.Index(order, b) > slices.Index(order, a) {
		return b
	}
	return a
}

// suite is a cipher suite with its level (SEC-21).
type suite struct {
	id    uint16
	name  string
	level Level
}

// suites lists the cipher suites that are offered to a server, the good ones first.
var suites = slices.Concat(
	named(Good, 0x1302, "TLS_AES_256_GCM_SHA384", 0x1303, "TLS_CHACHA20_POLY1305_SHA256"),
	named(Sufficient,
		0x1301, "TLS_AES_128_GCM_SHA256", 0x1304, "TLS_AES_128_CCM_SHA256",
		0xC02C, "ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", 0xC030, "ECDHE_RSA_WITH_AES_256_GCM_SHA384",
		0xC02B, "ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", 0xC02F, "ECDHE_RSA_WITH_AES_128_GCM_SHA256",
		0xCCA9, "ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", 0xCCA8, "ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
		0xC0AD, "ECDHE_ECDSA_WITH_AES_256_CCM", 0xC0AC, "ECDHE_ECDSA_WITH_AES_128_CCM"),
	named(PhaseOut,
		0xC024, "ECDHE_ECDSA_WITH_AES_256_CBC_SHA384", 0xC028, "ECDHE_RSA_WITH_AES_256_CBC_SHA384",
		0xC00A, "ECDHE_ECDSA_WITH_AES_256_CBC_SHA", 0xC014, "ECDHE_RSA_WITH_AES_256_CBC_SHA",
		0xC023, "ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", 0xC027, "ECDHE_RSA_WITH_AES_128_CBC_SHA256",
		0xC009, "ECDHE_ECDSA_WITH_AES_128_CBC_SHA", 0xC013, "ECDHE_RSA_WITH_AES_128_CBC_SHA",
		0x009F, "DHE_RSA_WITH_AES_256_GCM_SHA384", 0x009E, "DHE_RSA_WITH_AES_128_GCM_SHA256", 0xCCAA, "DHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
		0xC09F, "DHE_RSA_WITH_AES_256_CCM", 0xC09E, "DHE_RSA_WITH_AES_128_CCM",
		0x006B, "DHE_RSA_WITH_AES_256_CBC_SHA256", 0x0039, "DHE_RSA_WITH_AES_256_CBC_SHA",
		0x0067, "DHE_RSA_WITH_AES_128_CBC_SHA256", 0x0033, "DHE_RSA_WITH_AES_128_CBC_SHA",
		0xC077, "ECDHE_RSA_WITH_CAMELLIA_256_CBC_SHA384", 0xC076, "ECDHE_RSA_WITH_CAMELLIA_128_CBC_SHA256",
		0xC061, "ECDHE_RSA_WITH_ARIA_256_GCM_SHA384", 0xC060, "ECDHE_RSA_WITH_ARIA_128_GCM_SHA256"),
	named(Insufficient,
		0x009D, "RSA_WITH_AES_256_GCM_SHA384", 0x009C, "RSA_WITH_AES_128_GCM_SHA256",
		0x003D, "RSA_WITH_AES_256_CBC_SHA256", 0x0035, "RSA_WITH_AES_256_CBC_SHA",
		0x003C, "RSA_WITH_AES_128_CBC_SHA256", 0x002F, "RSA_WITH_AES_128_CBC_SHA",
		0xC09D, "RSA_WITH_AES_256_CCM", 0xC09C, "RSA_WITH_AES_128_CCM", 0x0084, "RSA_WITH_CAMELLIA_256_CBC_SHA",
		0xC008, "ECDHE_ECDSA_WITH_3DES_EDE_CBC_SHA", 0xC012, "ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
		0x0016, "DHE_RSA_WITH_3DES_EDE_CBC_SHA", 0x000A, "RSA_WITH_3DES_EDE_CBC_SHA",
		0xC007, "ECDHE_ECDSA_WITH_RC4_128_SHA", 0xC011, "ECDHE_RSA_WITH_RC4_128_SHA", 0x0005, "RSA_WITH_RC4_128_SHA", 0x0004, "RSA_WITH_RC4_128_MD5",
		0x0009, "RSA_WITH_DES_CBC_SHA", 0x0003, "RSA_EXPORT_WITH_RC4_40_MD5", 0x0001, "RSA_WITH_NULL_MD5", 0x0002, "RSA_WITH_NULL_SHA", 0x003B, "RSA_WITH_NULL_SHA256",
		0xC018, "ECDH_anon_WITH_AES_128_CBC_SHA", 0x00A7, "DH_anon_WITH_AES_256_GCM_SHA384", 0x0034, "DH_anon_WITH_AES_128_CBC_SHA"),
)

func named(level Level, pairs ...any) []suite {
	var all []suite
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, suite{uint16(pairs[i].(int)), pairs[i+1].(string), level})
	}
	return all
}

// suitesOf lists the suites of some levels for a version.
func suitesOf(version uint16, levels ...Level) []uint16 {
	var ids []uint16
	for _, s := range suites {
		modern := s.id>>8 == 0x13
		if modern == (version == tls13) && (len(levels) == 0 || slices.Contains(levels, s.level)) {
			ids = append(ids, s.id)
		}
	}
	return ids
}

func suiteName(id uint16) string {
	for _, s := range suites {
		if s.id == id {
			return s.name
		}
	}
	return fmt.Sprintf("0x%04X", id)
}

// ephemeral reports whether a suite of TLS 1.2 or older has a ServerKeyExchange.
func ephemeral(id uint16) bool {
	name := suiteName(id)
	return strings.HasPrefix(name, "ECDH") || finiteField(id)
}

func finiteField(id uint16) bool {
	name := suiteName(id)
	return strings.HasPrefix(name, "DHE_") || strings.HasPrefix(name, "DH_anon")
}

// Groups of key exchange by level (SEC-22).
var (
	hybridGroups     = []uint16{0x11EC, 0x11EB, 0x11ED}             // X25519MLKEM768, SecP256r1MLKEM768, SecP384r1MLKEM1024
	sufficientGroups = []uint16{29, 30, 23, 24, 25, 31, 32, 33, 34} // X25519, X448, P-256, P-384, P-521, brainpool of TLS 1.3
	brainpool        = []uint16{26, 27, 28}
	phaseOutGroups   = []uint16{21}                                                        // P-224
	weakGroups       = []uint16{1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 17, 18, 19, 20, 22, 9, 10} // up to 192 bits, and binary curves
	fieldGroups      = []uint16{0x0100, 0x0101, 0x0102, 0x0103, 0x0104}                    // ffdhe2048 to ffdhe8192
)

func groupName(id uint16) string {
	names := map[uint16]string{
		0x11EC: "X25519MLKEM768", 0x11EB: "SecP256r1MLKEM768", 0x11ED: "SecP384r1MLKEM1024", 29: "X25519", 30: "X448", 23: "P-256", 24: "P-384",
		25: "P-521", 21: "P-224", 26: "brainpoolP256r1", 27: "brainpoolP384r1", 28: "brainpoolP512r1", 0x0100: "ffdhe2048", 0x0101: "ffdhe3072",
		0x0102: "ffdhe4096", 0x0103: "ffdhe6144", 0x0104: "ffdhe8192", 22: "secp256k1", 19: "P-192",
	}
	if name, ok := names[id]; ok {
		return name
	}
	return fmt.Sprintf("group %d", id)
}
