# case: deepspeed/elasticity/elastic_agent.py 0.14.0
from torch.distributed.elastic.agent.server.api import log, _get_socket_with_port
from torch.distributed.elastic.metrics import put_metric
import subprocess


class DSElasticAgent(LocalElasticAgent):

    def start(self):
        log.info(_get_socket_with_port())
