package node

import (
	"svc/http/api"
	"svc/http/gateway"
)

// Routes is the table that the node serves.
func (n *Node) Routes() []gateway.Route { return api.Routes(n.deps()) }
