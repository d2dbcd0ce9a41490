"""A real cluster on one machine: etcd, kube-apiserver, and nodes with weft's or upstream's flanneld, in network namespaces."""

import os
import sys

for each in ("netns", "wine"):  # the lab; how programs start under Wine
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", each))
