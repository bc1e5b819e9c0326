package automation

import (
	"strings"

	"svc/domain/automation/value"
)

// LocalName returns a name of the workspace, of an event, an automation or an endpoint, as
// the automations of an app instance call it. What is not of the instance, and events of the
// platform, have the same name everywhere.
func LocalName(instance, name string) string {
	if instance == "" || Native(name) {
		return name
	}
	local, _ := strings.CutPrefix(name, instance+".")
	return local
}

// executedEvent tells that an execution ended.
const executedEvent = "runtime.automations.executed"

// LocalEvent returns an event as the automations of an app instance see it: it has the name
// that it has in the workspace they were written in. The event itself stays as it is.
func LocalEvent(instance string, event any) any {
	o, ok := event.(*value.Object)
	name, named := o.At("type").(string)
	if instance == "" || !ok || !named {
		return event
	}
	if name == executedEvent {
		local := localMember(o, "payload", func(payload *value.Object) *value.Object {
			return localMember(localText(payload, instance, "slug"), "trigger", func(trigger *value.Object) *value.Object {
				return localText(trigger, instance, "value")
			})
		})
		return local
	}
	return localText(o, instance, "type")
}

// localText returns an object with the local name in the place of one of its texts.
func localText(o *value.Object, instance, key string) *value.Object {
	name, ok := o.At(key).(string)
	if !ok || LocalName(instance, name) == name {
		return o
	}
	local := o.Copy()
	local.Set(key, LocalName(instance, name))
	return local
}

// localMember returns an object with one of its objects changed.
func localMember(o *value.Object, key string, change func(*value.Object) *value.Object) *value.Object {
	member, ok := o.At(key).(*value.Object)
	if !ok {
		return o
	}
	changed := change(member)
	if changed == member {
		return o
	}
	local := o.Copy()
	local.Set(key, changed)
	return local
}
