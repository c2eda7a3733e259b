package cms

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	_ "crypto/sha1" // the default hash of RSA-OAEP
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
)

func oidOAEP() asn1.ObjectIdentifier { return asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 7} }

func oidMGF1() asn1.ObjectIdentifier { return asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 8} }

func oidPSpecified() asn1.ObjectIdentifier { return asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 9} }

// maxLabel bounds the label of RSA-OAEP, in bytes.
const maxLabel = 1024

// oaepParameters are RSAES-OAEP-params of RFC 4055, 4.1.
type oaepParameters struct {
	Hash  pkix.AlgorithmIdentifier `asn1:"optional,explicit,tag:0"`
	Mask  pkix.AlgorithmIdentifier `asn1:"optional,explicit,tag:1"`
	Label pkix.AlgorithmIdentifier `asn1:"optional,explicit,tag:2"`
}

// keyOptions reads how a content key is encrypted: the options for the private key, and the names of the algorithms. A content
// key has size octets. Every error is about what stands in the clear.
func keyOptions(algorithm pkix.AlgorithmIdentifier, size int) (crypto.DecrypterOpts, []string, error) {
	switch {
	case algorithm.Algorithm.Equal(oidRSA()):
		//nolint:staticcheck // SA1019: most of the profile's parties write no other padding, and a wrong one is not reported
		return &rsa.PKCS1v15DecryptOptions{SessionKeyLen: size}, []string{KeyRSA}, nil
	case !algorithm.Algorithm.Equal(oidOAEP()):
		return nil, nil, unknownAlgorithm(algorithm.Algorithm.String() + " for the content key")
	}
	var p oaepParameters
	if raw := algorithm.Parameters.FullBytes; len(raw) > 0 && algorithm.Parameters.Tag != asn1.TagNull {
		if err := unmarshal(raw, &p); err != nil {
			return nil, nil, err
		}
	}
	hash, err := hashOf(p.Hash)
	if err != nil {
		return nil, nil, err
	}
	mask, err := maskOf(p.Mask)
	if err != nil {
		return nil, nil, err
	}
	label, err := labelOf(p.Label)
	if err != nil {
		return nil, nil, err
	}
	names := []string{KeyOAEP}
	if hash == crypto.SHA1 || mask == crypto.SHA1 {
		names = append(names, KeyOAEPSHA1)
	}
	return &rsa.OAEPOptions{Hash: hash, MGFHash: mask, Label: label}, names, nil
}

// hashOf reads a hash algorithm; without one it is SHA-1, as RFC 4055 says.
func hashOf(a pkix.AlgorithmIdentifier) (crypto.Hash, error) {
	switch a.Algorithm.String() {
	case "", "1.3.14.3.2.26":
		return crypto.SHA1, nil
	case "2.16.840.1.101.3.4.2.1":
		return crypto.SHA256, nil
	case "2.16.840.1.101.3.4.2.2":
		return crypto.SHA384, nil
	case "2.16.840.1.101.3.4.2.3":
		return crypto.SHA512, nil
	}
	return 0, unknownAlgorithm("with hash " + a.Algorithm.String())
}

// maskOf reads the hash of a mask generation function; without one it is MGF1 with SHA-1.
func maskOf(a pkix.AlgorithmIdentifier) (crypto.Hash, error) {
	if len(a.Algorithm) == 0 {
		return crypto.SHA1, nil
	}
	if !a.Algorithm.Equal(oidMGF1()) {
		return 0, unknownAlgorithm("with mask generation function " + a.Algorithm.String())
	}
	var inner pkix.AlgorithmIdentifier
	if err := unmarshal(a.Parameters.FullBytes, &inner); err != nil {
		return 0, err
	}
	return hashOf(inner)
}

func labelOf(a pkix.AlgorithmIdentifier) ([]byte, error) {
	if len(a.Algorithm) == 0 {
		return nil, nil
	}
	if !a.Algorithm.Equal(oidPSpecified()) {
		return nil, unknownAlgorithm("with label " + a.Algorithm.String())
	}
	var label []byte
	if err := unmarshal(a.Parameters.FullBytes, &label); err != nil {
		return nil, err
	}
	if len(label) > maxLabel {
		return nil, errors.New("the label of RSA-OAEP is too long")
	}
	return label, nil
}

// contentKey decrypts the content key. One with a wrong padding or of another size is replaced by a random one and used, so
// that nothing that follows tells them apart. The error is ErrKey alone.
func contentKey(sent []byte, key crypto.PrivateKey, options crypto.DecrypterOpts, size int) ([]byte, error) {
	decrypter, ok := key.(crypto.Decrypter)
	if !ok {
		return nil, ErrKey
	}
	if _, ok := decrypter.Public().(*rsa.PublicKey); !ok {
		return nil, ErrKey
	}
	secret, err := decrypter.Decrypt(rand.Reader, sent, options)
	if err != nil || len(secret) != size {
		secret = make([]byte, size)
		rand.Read(secret) // it never fails
	}
	return secret, nil
}
