{{- define "weft.labels" -}}
app.kubernetes.io/name: weft
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "weft.netConfName" -}}
{{ .Values.netConf.existingConfigMap | default "kube-flannel-cfg" }}
{{- end -}}

{{/* Of the network in HNS, where net-conf's Backend has no Name. */}}
{{- define "weft.networkName" -}}
{{- $own := ternary "cbr0" (printf "flannel.%d" (int .Values.flannel.vni)) (eq .Values.flannel.backend "host-gw") -}}
{{ .Values.windows.kubeProxy.networkName | default $own }}
{{- end -}}

{{- define "weft.nodeVariables" -}}
- name: NODE_NAME
  valueFrom:
    fieldRef:
      fieldPath: spec.nodeName
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: POD_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
{{- end -}}

{{- define "weft.probes" -}}
{{- with .Values.flannel.healthz }}
{{- if .port -}}
ports:
  - name: healthz
    containerPort: {{ int .port }}
    protocol: TCP
livenessProbe:
  httpGet:
    path: /healthz
    port: healthz
  {{- with .livenessProbe }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
readinessProbe:
  httpGet:
    path: /readyz
    port: healthz
  {{- with .readinessProbe }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end }}
{{- end -}}
