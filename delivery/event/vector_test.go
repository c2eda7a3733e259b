package event

import (
	"strings"
	"testing"
)

// These vectors cover the same cases, under the same names, as the format
// tests of the CloudEvents conformance project; the events are ours.

func vector(members ...string) string { return "{" + strings.Join(members, ", ") + "}" }

const (
	vSpec   = `"specversion": "1.0"`
	vID     = `"id": "e-1"`
	vType   = `"type": "nl.example.test"`
	vSource = `"source": "https://example.nl"`
)

func validVectors() map[string]string {
	core := func(more ...string) string { return vector(append([]string{vSpec, vID, vType, vSource}, more...)...) }
	return map[string]string{
		"validMinimal":                            core(),
		"validMinimalWithNullForOptional":         core(`"datacontenttype": null`, `"dataschema": null`, `"subject": null`, `"time": null`),
		"validAllCoreAttributes":                  core(`"datacontenttype": "text/plain"`, `"dataschema": "https://example.nl/schema"`, `"subject": "tests"`, `"time": "2026-04-05T17:31:00Z"`),
		"validMinimalWithTimeUtc":                 core(`"time": "2026-04-05T17:31:00Z"`),
		"validMinimalWithTimeToNanosecondsUtc":    core(`"time": "2026-04-05T17:31:00.000000000Z"`),
		"validMinimalWithTimeUsingPositiveOffset": core(`"time": "2026-04-05T18:31:00+01:00"`),
		"validMinimalWithTimeUsingNegativeOffset": core(`"time": "2026-04-05T16:31:00-01:00"`),
		"validRelativeSource":                     vector(vSpec, vID, vType, `"source": "#fragment"`),
		"validSimpleTextData":                     core(`"datacontenttype": "text/plain"`, `"data": "Simple text"`),
		"validAllExtensionTypes": core(`"extinteger": 10`, `"extboolean": true`, `"extstring": "text"`, `"exturi": "https://example.nl"`,
			`"exturiref": "//authority/path"`, `"exttimestamp": "2026-03-31T15:12:00Z"`, `"extbinary": "TWE="`),
	}
}

func invalidVectors() map[string]string {
	core := func(more ...string) string { return vector(append([]string{vSpec, vID, vType, vSource}, more...)...) }
	return map[string]string{
		"invalidNoSpecVersion":             vector(vID, vType, vSource),
		"invalidNoId":                      vector(vSpec, vType, vSource),
		"invalidNoType":                    vector(vSpec, vID, vSource),
		"invalidNoSource":                  vector(vSpec, vID, vType),
		"invalidTimeGarbage":               core(`"time": "lunchtime"`),
		"invalidTimeToMinute":              core(`"time": "2026-04-05T18:31Z"`),
		"invalidTimeOffsetX":               core(`"time": "2026-04-05T18:31:00X"`),
		"invalidTimeOffsetOutOfRange":      core(`"time": "2026-04-05T18:31:00+25:00"`),
		"invalidTimeOffsetNonInteger":      core(`"time": "2026-04-05T18:31:00+xx:00"`),
		"invalidTimeOffsetHourOnly":        core(`"time": "2026-04-05T18:31:00+05"`),
		"invalidEmptyId":                   vector(vSpec, `"id": ""`, vType, vSource),
		"invalidEmptyType":                 vector(vSpec, vID, `"type": ""`, vSource),
		"invalidEmptySource":               vector(vSpec, vID, vType, `"source": ""`),
		"invalidEmptySpecVersion":          vector(`"specversion": ""`, vID, vType, vSource),
		"invalidUnknownSpecVersion":        vector(`"specversion": "0.9"`, vID, vType, vSource),
		"invalidNonRfc2046DataContentType": core(`"datacontenttype": "xyz"`),
		"invalidEmptyDataContentType":      core(`"datacontenttype": ""`),
		"invalidEmptyDataSchema":           core(`"dataschema": ""`),
		"invalidEmptySubject":              core(`"subject": ""`),
		"invalidNumericId":                 vector(vSpec, `"id": 25`, vType, vSource),
		"invalidObjectId":                  vector(vSpec, `"id": {"a": "b"}`, vType, vSource),
		"invalidCapitalizedExtension":      core(`"MyExtension": "bad"`),
		"invalidPunctuatedExtension":       core(`"my.extension": "bad"`),
		"invalidNonIntegerExtensionValue":  core(`"myextension": 1.5`),
		"invalidBothDataAndDataBase64":     core(`"data": "text"`, `"data_base64": "e30="`),
	}
}

// Rules: EDU-03, CE-01, CE-02, CE-03.
func TestVectors(t *testing.T) {
	t.Parallel()
	for name, body := range validVectors() {
		if _, err := ParseJSON([]byte(body), Limits{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, body := range invalidVectors() {
		_, err := ParseJSON([]byte(body), Limits{})
		if problems := problemsOf(t, err); len(problems) != 1 || problems[0].Attribute == "" {
			t.Errorf("%s: %+v", name, problems)
		}
	}
}

// Rules: EDU-03, CE-56.
func TestBatchVectors(t *testing.T) {
	t.Parallel()
	valid := validVectors()
	minimal, all, extensions := valid["validMinimal"], valid["validAllCoreAttributes"], valid["validAllExtensionTypes"]
	for name, events := range map[string][]string{
		"validBatchEmpty":                       {},
		"validBatchMinimal":                     {minimal},
		"validBatchMinimal2":                    {minimal, minimal},
		"validBatchMinimalAndAllCore":           {minimal, all},
		"validBatchMinimalAndAllExtensionTypes": {minimal, extensions},
	} {
		got, err := ParseBatch([]byte("["+strings.Join(events, ",")+"]"), Limits{})
		if err != nil || len(got) != len(events) {
			t.Errorf("%s: %d events, %v", name, len(got), err)
		}
	}
	invalid := invalidVectors()
	for name, batch := range map[string]string{
		"invalidBatchMixedSpecVersions":           "[" + minimal + "," + invalid["invalidUnknownSpecVersion"] + "]",
		"invalidBatchContainingInvalidCloudEvent": "[" + invalid["invalidNoId"] + "]",
		"invalidBatchContainingNonObject":         `["not an object",` + minimal + "]",
	} {
		_, err := ParseBatch([]byte(batch), Limits{})
		if problems := problemsOf(t, err); len(problems) != 1 || problems[0].Index < 0 {
			t.Errorf("%s: %+v", name, problems)
		}
	}
}
