#!/bin/sh
cat <<EOF
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
EOF
: "unbalanced
