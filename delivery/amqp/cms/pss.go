package cms

import (
	"crypto"
	"crypto/rsa"
	"crypto/subtle"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/binary"
	"errors"
	"math/big"
)

func oidPSS() asn1.ObjectIdentifier { return asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 10} }

// pssParameters are RSASSA-PSS-params of RFC 4055, 3.1.
type pssParameters struct {
	Hash    pkix.AlgorithmIdentifier `asn1:"optional,explicit,tag:0"`
	Mask    pkix.AlgorithmIdentifier `asn1:"optional,explicit,tag:1"`
	Salt    int                      `asn1:"optional,explicit,tag:2,default:20"`
	Trailer int                      `asn1:"optional,explicit,tag:3,default:1"`
}

// pss holds the parameters of an RSA-PSS signature.
type pss struct {
	hash, mask crypto.Hash
	salt       int // octets
}

// readPSS reads the parameters, whose hash has to be the digest of the signer. SHA-1 is accepted in neither place.
func readPSS(algorithm pkix.AlgorithmIdentifier, digest crypto.Hash) (pss, error) {
	var p pssParameters
	if err := unmarshal(algorithm.Parameters.FullBytes, &p); err != nil {
		return pss{}, err
	}
	hash, err := hashOf(p.Hash)
	if err != nil {
		return pss{}, err
	}
	mask, err := maskOf(p.Mask)
	if err != nil {
		return pss{}, err
	}
	switch {
	case hash == crypto.SHA1 || mask == crypto.SHA1:
		return pss{}, unknownAlgorithm("RSA-PSS with SHA-1")
	case hash != digest:
		return pss{}, errors.New("the hash of RSA-PSS is not the digest of the signer")
	case p.Salt < 0 || p.Salt > 512 || p.Trailer != 1:
		return pss{}, errors.New("the parameters of RSA-PSS are not valid")
	}
	return pss{hash, mask, p.Salt}, nil
}

// verify checks a signature over octets. The standard library takes no mask with another hash than that of the digest, so the
// encoding is checked here as RFC 8017, 9.1.2 says; nothing in it is secret.
func (p pss) verify(key *rsa.PublicKey, signed, signature []byte) error {
	h := p.hash.New()
	h.Write(signed)
	digest := h.Sum(nil)
	if p.mask == p.hash {
		if rsa.VerifyPSS(key, p.hash, digest, signature, &rsa.PSSOptions{SaltLength: p.salt}) != nil {
			return errMismatch
		}
		return nil
	}
	if len(signature) != key.Size() || key.N.BitLen() < 1024 {
		return errMismatch
	}
	s := new(big.Int).SetBytes(signature)
	if s.Cmp(key.N) >= 0 {
		return errMismatch
	}
	bits := key.N.BitLen() - 1
	encoded := make([]byte, (bits+7)/8)
	m := s.Exp(s, big.NewInt(int64(key.E)), key.N)
	if m.BitLen() > bits {
		return errMismatch
	}
	return p.check(digest, m.FillBytes(encoded), bits)
}

// check is EMSA-PSS-VERIFY of an encoded message of so many bits.
func (p pss) check(digest, encoded []byte, bits int) error {
	size := len(digest)
	if len(encoded) < size+p.salt+2 || encoded[len(encoded)-1] != 0xbc {
		return errMismatch
	}
	masked, want := encoded[:len(encoded)-size-1], encoded[len(encoded)-size-1:len(encoded)-1]
	top := byte(0xff) >> (8*len(encoded) - bits)
	if masked[0]&^top != 0 {
		return errMismatch
	}
	block := p.maskOf(want, len(masked))
	subtle.XORBytes(block, block, masked)
	block[0] &= top
	zeros := len(block) - p.salt - 1
	for _, b := range block[:zeros] {
		if b != 0 {
			return errMismatch
		}
	}
	if block[zeros] != 1 {
		return errMismatch
	}
	h := p.hash.New()
	h.Write(make([]byte, 8))
	h.Write(digest)
	h.Write(block[zeros+1:])
	if subtle.ConstantTimeCompare(h.Sum(nil), want) != 1 {
		return errMismatch
	}
	return nil
}

// maskOf is MGF1 with the hash of the mask, of so many octets.
func (p pss) maskOf(seed []byte, size int) []byte {
	var out []byte
	for counter := uint32(0); len(out) < size; counter++ {
		h := p.mask.New()
		h.Write(seed)
		h.Write(binary.BigEndian.AppendUint32(nil, counter))
		out = h.Sum(out)
	}
	return out[:size]
}
