package endpointcheck

import "schakel/templates/i18n"

// ShownReport is a report in the language of a reader, as the API and the command give it.
type ShownReport struct {
	URL       string         `json:"url"`
	Result    Result         `json:"result"`
	SlowestMS int64          `json:"slowestMilliseconds"`
	Findings  []ShownFinding `json:"findings"`
}

// ShownFinding is a finding in the language of a reader.
type ShownFinding struct {
	Code     string `json:"code"`
	Result   Result `json:"result"`
	Level    Level  `json:"level,omitempty"`
	Rule     string `json:"rule"`
	Title    string `json:"title"`
	Text     string `json:"text"`
	Remedy   string `json:"remedy,omitempty"`
	Sent     string `json:"sent,omitempty"`
	Received string `json:"received,omitempty"`
}

// Shown writes a report in a language.
func Shown(r Report, l *i18n.Locale) ShownReport {
	s := ShownReport{URL: r.URL, Result: r.Result, SlowestMS: r.Slowest.Milliseconds(), Findings: []ShownFinding{}}
	for _, f := range r.Findings {
		s.Findings = append(s.Findings, ShownFinding{
			f.Code, f.Result, f.Level, RuleOf(f.Code), l.Text(Title(f.Code)), l.Text(f.Text), l.Text(f.Remedy), f.Sent, f.Received,
		})
	}
	return s
}
