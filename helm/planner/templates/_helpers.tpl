{{- define "planner.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "planner.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "planner.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "planner.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "planner.selector" -}}
app.kubernetes.io/name: {{ include "planner.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "planner.labels" -}}
{{ include "planner.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: planner
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "planner.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}{{- else -}}{{ .repository }}:{{ default $.Chart.AppVersion .tag }}{{- end -}}
{{- end -}}
{{- end -}}

{{- define "planner.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "planner.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* Longest stop: the drain, the transaction that settles it (15 s at most), and leaving the group. */}}
{{- define "planner.graceSeconds" -}}
{{- add (int .Values.worker.drainSeconds) 15 10 -}}
{{- end -}}

{{/* What every pod of ours is told. `secrets` names which credentials it gets: each only those of its own role. */}}
{{- define "planner.env" -}}
{{- $v := .root.Values -}}
- name: PLANNER_KAFKA_BOOTSTRAP
  value: {{ $v.kafka.bootstrap | quote }}
- name: PLANNER_KAFKA_SECURITY_PROTOCOL
  value: {{ $v.kafka.securityProtocol | quote }}
{{- if hasPrefix "SASL" $v.kafka.securityProtocol }}
- name: PLANNER_KAFKA_SASL_MECHANISM
  value: {{ $v.kafka.saslMechanism | quote }}
- name: PLANNER_KAFKA_SASL_USERNAME
  valueFrom: {secretKeyRef: {name: {{ required "secrets.kafka names the Secret with the SASL credentials" $v.secrets.kafka }}, key: sasl-username}}
- name: PLANNER_KAFKA_SASL_PASSWORD
  valueFrom: {secretKeyRef: {name: {{ $v.secrets.kafka }}, key: sasl-password}}
{{- end }}
{{- if $v.kafka.caSecret }}
- name: PLANNER_KAFKA_SSL_CAFILE
  value: /etc/planner/kafka/ca.crt
{{- end }}
- name: PLANNER_TOPIC_PARTITIONS
  value: {{ $v.kafka.partitions | quote }}
- name: PLANNER_DRAIN_SECONDS
  value: {{ $v.worker.drainSeconds | quote }}
{{- if has "serve" .secrets }}
- name: PLANNER_DATABASE_URL
  valueFrom: {secretKeyRef: {name: {{ $v.secrets.serve }}, key: database-url}}
{{- end }}
{{- if has "sink" .secrets }}
- name: PLANNER_SINK_DATABASE_URL
  valueFrom: {secretKeyRef: {name: {{ $v.secrets.serve }}, key: sink-database-url}}
{{- end }}
{{- if has "admin" .secrets }}
- name: PLANNER_ADMIN_DATABASE_URL
  valueFrom: {secretKeyRef: {name: {{ $v.secrets.admin }}, key: admin-database-url}}
{{- end }}
{{- if and (has "inference" .secrets) $v.secrets.inference }}
- name: PLANNER_INFERENCE_API_KEY
  valueFrom: {secretKeyRef: {name: {{ $v.secrets.inference }}, key: api-key}}
{{- end }}
{{- if and (has "signing" .secrets) $v.secrets.signing }}
- name: PLANNER_AUDIT_SIGNING_KEY
  value: /etc/planner/signing/signing.key
{{- end }}
{{- range $name, $value := $v.settings }}
- name: PLANNER_{{ upper $name }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end -}}

{{- define "planner.mounts" -}}
- {name: tmp, mountPath: /tmp}
{{- if .root.Values.kafka.caSecret }}
- {name: kafka-ca, mountPath: /etc/planner/kafka, readOnly: true}
{{- end }}
{{- if and (has "signing" .secrets) .root.Values.secrets.signing }}
- {name: signing, mountPath: /etc/planner/signing, readOnly: true}
{{- end }}
{{- end -}}

{{- define "planner.volumes" -}}
- name: tmp
  emptyDir: {sizeLimit: 64Mi}
{{- if .root.Values.kafka.caSecret }}
- name: kafka-ca
  secret: {secretName: {{ .root.Values.kafka.caSecret }}}
{{- end }}
{{- if and (has "signing" .secrets) .root.Values.secrets.signing }}
- name: signing
  secret: {secretName: {{ .root.Values.secrets.signing }}, defaultMode: 0440}
{{- end }}
{{- end -}}

{{/* The pod of a job: one command, no service account token, the same restrictions as the service. */}}
{{- define "planner.jobPod" -}}
metadata:
  labels:
    {{- include "planner.labels" . | nindent 4 }}
spec:
  restartPolicy: Never
  automountServiceAccountToken: false
  {{- with .serviceAccount }}
  serviceAccountName: {{ . }}
  {{- end }}
  {{- with .root.Values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  securityContext:
    {{- include "planner.podSecurity" . | nindent 4 }}
  containers:
    - name: planner
      image: {{ include "planner.image" .root }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      args: {{ toJson .args }}
      env:
        {{- include "planner.env" . | nindent 8 }}
      securityContext:
        {{- include "planner.containerSecurity" . | nindent 8 }}
      resources:
        requests: {cpu: 100m, memory: 256Mi, ephemeral-storage: 64Mi}
        limits: {memory: 1Gi, ephemeral-storage: 128Mi}
      volumeMounts:
        {{- include "planner.mounts" . | nindent 8 }}
  volumes:
    {{- include "planner.volumes" . | nindent 4 }}
{{- end -}}

{{/* The Deployment of a long running part. */}}
{{- define "planner.deployment" -}}
{{- $v := index .root.Values .component -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "planner.fullname" .root }}-{{ .component }}
  labels:
    {{- include "planner.labels" . | nindent 4 }}
spec:
  {{- if not .scaled }}
  replicas: {{ $v.replicas }}
  {{- end }}
  revisionHistoryLimit: 5
  strategy:
    # a pod more costs a rebalance more: with eager assignment every join and leave stops the group
    type: RollingUpdate
    rollingUpdate: {maxSurge: 0, maxUnavailable: 1}
  selector:
    matchLabels:
      {{- include "planner.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "planner.labels" . | nindent 8 }}
      {{- with $v.podAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ include "planner.fullname" .root }}
      automountServiceAccountToken: false
      {{- with .root.Values.image.pullSecrets }}
      imagePullSecrets:
        {{- range . }}
        - name: {{ . }}
        {{- end }}
      {{- end }}
      terminationGracePeriodSeconds: {{ include "planner.graceSeconds" .root }}
      securityContext:
        {{- include "planner.podSecurity" . | nindent 8 }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "planner.selector" . | nindent 14 }}
      containers:
        - name: {{ .component }}
          image: {{ include "planner.image" .root }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          args: [{{ .component }}]
          env:
            {{- include "planner.env" . | nindent 12 }}
            - name: PLANNER_HTTP_HOST
              value: 0.0.0.0
            - name: PLANNER_HTTP_PORT
              value: "8080"
          ports:
            - {name: http, containerPort: 8080}
          startupProbe:
            httpGet: {path: /livez, port: http}
            periodSeconds: 2
            failureThreshold: 60
          livenessProbe:
            httpGet: {path: /livez, port: http}
            periodSeconds: 10
            failureThreshold: 3
          readinessProbe:
            httpGet: {path: /readyz, port: http}
            periodSeconds: 5
          securityContext:
            {{- include "planner.containerSecurity" . | nindent 12 }}
          resources:
            {{- toYaml $v.resources | nindent 12 }}
          volumeMounts:
            {{- include "planner.mounts" . | nindent 12 }}
      volumes:
        {{- include "planner.volumes" . | nindent 8 }}
      {{- with $v.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $v.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $v.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end -}}
