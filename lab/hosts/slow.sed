# The ClusterClass for a machine that is twenty times slower: its waits follow progress. With
# the default lease, renewed within 10 s, kube-controller-manager and kube-scheduler of a
# cluster exit while the next node boots.
/- &retry/i\
              - &lease\
                name: leader-elect-lease-duration\
                value: 125s\
              - &renew\
                name: leader-elect-renew-deadline\
                value: 120s
/- \*retry/i\
              - *lease\
              - *renew
s/discoverySeconds: .*/discoverySeconds: 3600/
s/\( *\)kubernetesAPICallSeconds: .*/\1kubernetesAPICallSeconds: 3600\n\1controlPlaneComponentHealthCheckSeconds: 3600\n\1kubeletHealthCheckSeconds: 3600\n\1etcdAPICallSeconds: 3600\n\1tlsBootstrapSeconds: 3600/
s/bootstrapTimeout: .*/bootstrapTimeout: 60m0s/
