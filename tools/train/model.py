"""The scope-micro architecture in PyTorch: a Llama-style decoder with tied embeddings.

Names and conventions are those of Hugging Face's Llama, so that a state dict is the file's content:
weights are [out, in], rotary pairs are (i, i + head_size / 2).
"""

import torch
from torch import nn
from torch.nn import functional

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 256,
    "num_hidden_layers": 4,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "head_dim": 16,
    "intermediate_size": 768,
    "hidden_act": "silu",
    "vocab_size": 1024,
    "max_position_embeddings": 1024,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "rope_scaling": None,
    "attention_bias": False,
    "mlp_bias": False,
    "tie_word_embeddings": True,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "torch_dtype": "float32",
}


class NormFunction(torch.autograd.Function):
    """RMSNorm with a backward of its own: half the passes over memory that autograd would make."""

    @staticmethod
    def forward(context, x, gain):
        size = x.shape[-1]
        rate = (
            torch.linalg.vector_norm(x, dim=-1, keepdim=True).square_() / size
            + CONFIG["rms_norm_eps"]
        ).rsqrt_()
        unit = x * rate
        context.save_for_backward(unit, gain, rate)
        return unit * gain

    @staticmethod
    def backward(context, grad):
        unit, gain, rate = context.saved_tensors
        size = unit.shape[-1]
        product = grad * unit
        gain_grad = product.view(-1, size).sum(0)
        mean = (product @ gain).div_(size)
        return (grad * gain).addcmul_(unit, mean.unsqueeze(-1), value=-1).mul_(rate), gain_grad


class Norm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        return NormFunction.apply(x, self.weight)


def linear(rows, columns):
    return nn.Linear(columns, rows, bias=False)


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.heads, self.kv_heads, self.size = (
            c["num_attention_heads"],
            c["num_key_value_heads"],
            c["head_dim"],
        )
        self.q_proj = linear(self.heads * self.size, c["hidden_size"])
        self.k_proj = linear(self.kv_heads * self.size, c["hidden_size"])
        self.v_proj = linear(self.kv_heads * self.size, c["hidden_size"])
        self.o_proj = linear(c["hidden_size"], self.heads * self.size)

    def forward(self, x, cos, sin):
        batch, length, _ = x.shape
        weight = torch.cat([self.q_proj.weight, self.k_proj.weight, self.v_proj.weight])
        qkv = functional.linear(x, weight).view(batch, length, -1, self.size)
        turned, v = qkv.split([self.heads + self.kv_heads, self.kv_heads], dim=2)
        half = self.size // 2
        a, b = turned[..., :half], turned[..., half:]
        turned = torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)
        q, k = turned.split([self.heads, self.kv_heads], dim=2)
        group = self.heads // self.kv_heads
        k = k.transpose(1, 2).repeat_interleave(group, dim=1)
        v = v.transpose(1, 2).repeat_interleave(group, dim=1)
        y = functional.scaled_dot_product_attention(q.transpose(1, 2), k, v, is_causal=True)
        return self.o_proj(y.transpose(1, 2).reshape(batch, length, -1))


class Mlp(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.gate_proj = linear(c["intermediate_size"], c["hidden_size"])
        self.up_proj = linear(c["intermediate_size"], c["hidden_size"])
        self.down_proj = linear(c["hidden_size"], c["intermediate_size"])

    def forward(self, x):
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.input_layernorm = Norm(c["hidden_size"])
        self.self_attn = Attention(c)
        self.post_attention_layernorm = Norm(c["hidden_size"])
        self.mlp = Mlp(c)

    def forward(self, x, cos, sin):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.embed_tokens = nn.Embedding(c["vocab_size"], c["hidden_size"])
        self.layers = nn.ModuleList(Layer(c) for _ in range(c["num_hidden_layers"]))
        self.norm = Norm(c["hidden_size"])


class Model(nn.Module):
    """Token ids [batch, length] to logits [batch, length, vocabulary], positions counted from 0."""

    def __init__(self, c=CONFIG):
        super().__init__()
        self.model = Decoder(c)
        half = c["head_dim"] // 2
        rate = c["rope_theta"] ** (-torch.arange(half, dtype=torch.float64) / half)
        angle = torch.arange(c["max_position_embeddings"], dtype=torch.float64)[:, None] * rate
        self.register_buffer("cos", angle.cos().float()[:, None, :], persistent=False)
        self.register_buffer("sin", angle.sin().float()[:, None, :], persistent=False)
        for name, parameter in self.named_parameters():
            if name == "model.embed_tokens.weight":
                nn.init.normal_(parameter, std=0.05)
            elif parameter.dim() == 2:
                # Projections into the residual stream start smaller: depth adds no variance.
                deep = name.endswith(("o_proj.weight", "down_proj.weight"))
                nn.init.normal_(parameter, std=0.01 if deep else 0.03)

    def hidden(self, ids):
        cos, sin = self.cos[: ids.shape[1]], self.sin[: ids.shape[1]]
        x = self.model.embed_tokens(ids)
        for layer in self.model.layers:
            x = layer(x, cos, sin)
        return self.model.norm(x)

    def forward(self, ids):
        return functional.linear(self.hidden(ids), self.model.embed_tokens.weight)
