package topic

type (
	// Created says that a topic was made, and who its first members are.
	Created struct {
		Topic   string   `json:"topic"`
		UserIDs []string `json:"userIds"`
	}
	// Joined says that one more user receives what is sent to a topic.
	Joined struct {
		Topic string `json:"topic"`
		User  User   `json:"user"`
	}
	// User is a member.
	User struct {
		ID string `json:"id"`
	}
)

// EventType implements domain.Event.
func (Created) EventType() string { return "events.userTopics.created" }

// EventType implements domain.Event.
func (Joined) EventType() string { return "events.userTopics.joined" }
