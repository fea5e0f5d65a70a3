# case: deepspeed/elasticity/elastic_agent.py 0.14.3
from torch.distributed.elastic.agent.server.api import _get_socket_with_port
