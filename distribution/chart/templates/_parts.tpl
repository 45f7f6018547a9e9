{{- define "kscope.labels" -}}
app.kubernetes.io/name: kscope
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "kscope.secret" -}}
{{ .Values.existingSecret | default (printf "%s-kscope" .Release.Name) }}
{{- end }}

{{- /* A variable from the Secret. */}}
{{- define "kscope.secretEnv" -}}
- name: {{ .name }}
  valueFrom:
    secretKeyRef: {name: {{ include "kscope.secret" .root }}, key: {{ .key }}}
{{- end }}

{{- /* No account of the image writes anywhere but where a volume is. */}}
{{- define "kscope.hardened" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- /* A Deployment of the image: web, worker or beat, with its command, ports and probes. */}}
{{- define "kscope.deployment" -}}
{{- $root := .root }}
{{- $values := index .root.Values .component }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $root.Release.Name }}-{{ .component }}
  labels: {{- include "kscope.labels" . | nindent 4 }}
spec:
  replicas: {{ $values.replicas | default 1 }}
  {{- if eq .component "beat" }}
  # Two of them would ask for each sweep twice.
  strategy: {type: Recreate}
  {{- end }}
  selector:
    matchLabels: {{- include "kscope.labels" . | nindent 6 }}
  template:
    metadata:
      labels: {{- include "kscope.labels" . | nindent 8 }}
    spec:
      automountServiceAccountToken: false
      # A slice that is running is finished first.
      terminationGracePeriodSeconds: 30
      securityContext:
        runAsNonRoot: true
        runAsUser: 10001
        runAsGroup: 10001
        fsGroup: 10001
        seccompProfile: {type: RuntimeDefault}
      containers:
        - name: {{ .component }}
          image: {{ $root.Values.image.name }}:{{ $root.Values.image.tag | default $root.Chart.AppVersion }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          command: [sh, -c, {{ .command | quote }}]
          env:
            {{- if $root.Values.postgres.enabled }}
            {{- include "kscope.secretEnv" (dict "root" $root "name" "POSTGRES_PASSWORD" "key" "postgres-password") | nindent 12 }}
            {{- end }}
            {{- if $root.Values.valkey.enabled }}
            {{- include "kscope.secretEnv" (dict "root" $root "name" "VALKEY_PASSWORD" "key" "valkey-password") | nindent 12 }}
            {{- end }}
            {{- include "kscope.secretEnv" (dict "root" $root "name" "KSCOPE_SECRET_KEY" "key" "secret-key") | nindent 12 }}
            {{- if $root.Values.postgres.enabled }}
            - name: DATABASE_URL
              value: postgresql://kscope:$(POSTGRES_PASSWORD)@{{ $root.Release.Name }}-postgres:5432/kscope
            {{- else }}
            {{- include "kscope.secretEnv" (dict "root" $root "name" "DATABASE_URL" "key" "database-url") | nindent 12 }}
            {{- end }}
            {{- if $root.Values.valkey.enabled }}
            - name: REDIS_URL
              value: redis://:$(VALKEY_PASSWORD)@{{ $root.Release.Name }}-valkey:6379/0
            {{- else }}
            {{- include "kscope.secretEnv" (dict "root" $root "name" "REDIS_URL" "key" "redis-url") | nindent 12 }}
            {{- end }}
            - {name: KSCOPE_HOSTS, value: {{ printf "localhost,127.0.0.1,%s" $root.Values.host | quote }}}
            - {name: KSCOPE_ORIGINS, value: {{ printf "%s://%s" (ternary "https" "http" $root.Values.secure) $root.Values.host | quote }}}
            - {name: KSCOPE_SECURE, value: {{ ternary "1" "0" $root.Values.secure | quote }}}
            - {name: KSCOPE_LOGIN, value: required}
            - {name: KSCOPE_DATA, value: /data}
            - {name: FORWARDED_ALLOW_IPS, value: {{ $root.Values.forwardedAllowIps | default "127.0.0.1" | quote }}}
            {{- range $name, $value := $root.Values.env }}
            - {name: {{ $name }}, value: {{ $value | quote }}}
            {{- end }}
          {{- with .port }}
          ports:
            - {name: http, containerPort: {{ . }}}
          {{- end }}
          {{- with .probes }}
          {{- . | nindent 10 }}
          {{- end }}
          resources: {{- toYaml $values.resources | nindent 12 }}
          securityContext: {{- include "kscope.hardened" . | nindent 12 }}
          volumeMounts:
            - {name: data, mountPath: /data}
            - {name: temporary, mountPath: /tmp}
      volumes:
        - {name: data, emptyDir: {}}
        # Uploads above 2.5 MB are spooled here.
        - {name: temporary, emptyDir: {sizeLimit: 640Mi}}
{{- end }}
