package value

// Within reports whether v has at most limit bytes, counted roughly: no less than
// its JSON would need without quotes escaped. It looks at no more of v than that.
// A value can be far larger than the memory it takes, since it may hold the same
// list many times: whoever is about to go through all of it asks first.
func Within(v any, limit int) bool { return spend(v, limit) >= 0 }

// Spend is Within that also tells how much of the limit it takes, about.
func Spend(v any, limit int) (spent int, ok bool) {
	left := spend(v, limit)
	return limit - left, left >= 0
}

// Parts is of how many values a list or an object consists, those in it included; 0 for
// all else. It looks at little more than limit of them.
func Parts(v any, limit int) (parts int) {
	switch v := v.(type) {
	case []any:
		parts = 1 + len(v)
		for i := 0; i < len(v) && parts <= limit; i++ {
			parts += Parts(v[i], limit-parts)
		}
	case *Object:
		parts = 1 + v.Len()
		for i := 0; i < v.Len() && parts <= limit; i++ {
			parts += Parts(v.values[i], limit-parts)
		}
	}
	return parts
}

// spend returns what is left of limit after v, less than 0 when it is not enough.
func spend(v any, limit int) int {
	switch v := v.(type) {
	case string:
		return limit - len(v) - 2
	case Bytes:
		return limit - len(v) - 2
	case []any:
		limit -= 1 + len(v)
		for i := 0; i < len(v) && limit >= 0; i++ {
			limit = spend(v[i], limit)
		}
		return limit
	case *Object:
		limit--
		for i, key := range v.Keys() {
			if limit -= len(key) + 4; limit < 0 {
				break
			}
			limit = spend(v.values[i], limit)
		}
		return limit
	}
	return limit - 1
}
