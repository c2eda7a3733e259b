package cms

import (
	"bytes"
	"crypto/aes"
	"encoding/asn1"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
)

// TestToDER rewrites BER, and leaves DER where it is.
func TestToDER(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"0500":                             "0500",
		"3003020101":                       "3003020101",
		"30800201010000":                   "3003020101",
		"308103020101":                     "3003020101",
		"24800401610401620000":             "04026162",
		"240604016104 0162":                "04026162",
		"2480248004016100000401620000":     "04026162",
		"a0802480040161040162000004000000": "a00604026162" + "0400",
		"30800000":                         "3000",
	} {
		in = strings.ReplaceAll(in, " ", "")
		der, err := hex.DecodeString(in)
		if err != nil {
			t.Fatal(err)
		}
		got, err := toDER(der)
		if err != nil || hex.EncodeToString(got) != want {
			t.Errorf("%s: %x, want %s: %v", in, got, want, err)
		}
		if in == want && &got[0] != &der[0] {
			t.Errorf("%s: copied", in)
		}
	}
}

// TestToDERRefuses what is malformed or out of bounds.
func TestToDERRefuses(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("3080", maxDepth+2)
	for in, want := range map[string]error{
		"": errTruncated, "30": errTruncated, "3001": errTruncated, "0402": errTruncated, "308004": errTruncated, "3080": errTruncated,
		"30800500": errTruncated, "3082": errTruncated, "30840fffffff": errTruncated, "3088ffffffffffffffff": errTruncated,
		"0480": errASN1, "1f0100": errASN1, "3089010101010101010101": errASN1, "24020500": errASN1, "24800500": errASN1,
		"050000": errTrailing, deep: errTooDeep, "30830300" + "00" + strings.Repeat("0500", 3<<15): errTooMany,
	} {
		der, err := hex.DecodeString(in)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := toDER(der); !errors.Is(err, want) {
			t.Errorf("%.20s: %v, want %v", in, err, want)
		}
	}
}

// FuzzToDER: the result is DER, stays as it is when read again, and equals what the standard library reads as one element.
func FuzzToDER(f *testing.F) {
	for _, seed := range []string{"0500", "30800201010000", "a0802480040161040162000004000000", "2480248004016100000401620000"} {
		der, err := hex.DecodeString(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(der)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		before := bytes.Clone(in)
		der, err := toDER(in)
		if !bytes.Equal(in, before) {
			t.Fatal("the input was changed")
		}
		if err != nil {
			return
		}
		again, err := toDER(der)
		if err != nil || !bytes.Equal(again, der) || len(der) > 0 && &again[0] != &der[0] {
			t.Fatalf("%x becomes %x becomes %x: %v", in, der, again, err)
		}
		var raw asn1.RawValue
		if rest, err := asn1.Unmarshal(der, &raw); err != nil || len(rest) > 0 {
			t.Errorf("%x: %v", der, err)
		}
	})
}

// TestElement writes lengths of one to four octets as the standard library does.
func TestElement(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 127, 128, 255, 256, 65535, 65536, 1 << 24} {
		content := make([]byte, size)
		want, err := asn1.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		got := primitive(tagOctets, content)
		if !bytes.Equal(got.bytes(), want) || got.size() != len(want) {
			t.Errorf("%d octets differ", size)
		}
	}
}

// TestPadding has every last octet, and every place where one is wrong.
//
// Rules: AMQP-131
func TestPadding(t *testing.T) {
	t.Parallel()
	for last := range 256 {
		block := bytes.Repeat([]byte{byte(last)}, aes.BlockSize)
		size, ok := paddingOf(block)
		if want := last >= 1 && last <= aes.BlockSize; ok != want || ok && size != last {
			t.Errorf("%d: %d, %t", last, size, ok)
		}
		for i := range aes.BlockSize - 1 {
			changed := bytes.Clone(block)
			changed[i] ^= 1
			want := last >= 1 && last <= aes.BlockSize && i < aes.BlockSize-last
			if _, ok := paddingOf(changed); ok != want {
				t.Errorf("%d wrong at %d: %t", last, i, ok)
			}
		}
	}
}
