"""Where an answer comes from: a model's last state split by meta path and by source node."""
