package node

import "svc/commands/operations"

// Operations runs the operations of this node.
func (n *Node) Operations() *operations.Runner { return n.operations }
