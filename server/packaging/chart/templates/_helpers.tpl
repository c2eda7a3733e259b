{{- define "schakel.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "schakel.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "schakel.labels" -}}
{{ include "schakel.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | replace "+" "-" | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "-" | trunc 63 }}
{{- end }}

{{- /* Settings: those of the values, and what the chart itself decides. */ -}}
{{- define "schakel.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- $_ := set $config "addr" ":8080" -}}
{{- $_ := set $config "admin-addr" ":8090" -}}
{{- if .Values.adminTLS.existingSecret -}}
{{- $_ := set $config "admin-tls-cert" "/etc/schakel/admin-tls/tls.crt" -}}
{{- $_ := set $config "admin-tls-key" "/etc/schakel/admin-tls/tls.key" -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not (hasKey $config "base-url")) -}}
{{- $_ := set $config "base-url" (printf "https://%s" .Values.ingress.host) -}}
{{- end -}}
{{- range list "database" "secret-key-file" -}}
{{- if hasKey $config . }}{{ fail (printf "config.%s is set by the chart: see database and secretKey in values.yaml" .) }}{{ end -}}
{{- end -}}
{{- toYaml $config -}}
{{- end }}
