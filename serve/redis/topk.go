package redis

import (
	"weir/measures/topk"
)

// Top lists are only in window keys.
var topkCommands = []command{
	{name: "topk.list", arity: -2, keys: firstKey, family: "topk", about: "the most frequent items of a window key; WITHCOUNT",
		differ: "Only of window keys. A count is never above the true one.", run: topkList},
	{name: "topk.count", arity: -3, keys: firstKey, family: "topk", about: "at least how many events each item has; 0 of an item that is not among the most frequent",
		differ: "Only of window keys.", run: topkCount},
	{name: "topk.query", arity: -3, keys: firstKey, family: "topk", about: "whether each item is one of those that TOPK.LIST names",
		differ: "Only of window keys.", run: topkQuery},
}

func topkList(c call, k *keyspace) {
	counted := len(c.args) == 3 && is(c.args[2], "WITHCOUNT")
	if len(c.args) > 2 && !counted {
		c.w.Error("WITHCOUNT keyword expected")
		return
	}
	top, ok := answered[*topk.Answer](c, k, typeTopK, "TopK: key does not exist")
	if !ok {
		return
	}
	n := len(top.Keys)
	if counted {
		n *= 2
	}
	c.w.Array(n)
	for _, e := range top.Keys {
		c.w.BulkString(e.Key)
		if counted {
			c.w.Int(int64(e.Count))
		}
	}
}

func topkCount(c call, k *keyspace) {
	c.eachItem(k, func(top *topk.Answer, item []byte) { c.w.Int(int64(top.Count(item))) })
}

func topkQuery(c call, k *keyspace) {
	c.eachItem(k, func(top *topk.Answer, item []byte) { c.w.Bool(top.Has(item)) })
}

// eachItem replies with an array: answer sends an element for each item that a command names.
func (c call) eachItem(k *keyspace, answer func(*topk.Answer, []byte)) {
	top, ok := answered[*topk.Answer](c, k, typeTopK, "TopK: key does not exist")
	if !ok {
		return
	}
	c.w.Array(len(c.args) - 2)
	for _, item := range c.args[2:] {
		answer(top, item)
	}
}
