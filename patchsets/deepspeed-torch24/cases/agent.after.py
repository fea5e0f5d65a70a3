from torch.distributed.elastic.utils.distributed import get_socket_with_port as _get_socket_with_port
from torch.distributed.elastic.utils.logging import get_logger
from torch.distributed.elastic.metrics import put_metric
import subprocess


log = get_logger(__name__)  # sitepatch: deepspeed-torch24


class DSElasticAgent(LocalElasticAgent):

    def start(self):
        log.info(_get_socket_with_port())
