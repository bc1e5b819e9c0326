/* The map of a workspace: which automations, pages and apps work together, and by what. */

export type Folder = 'automations' | 'pages' | 'imports';

export interface MapNode {
  /** Path of the document: `automations/charge`. */
  id: string;
  folder: Folder;
  slug: string;
  name: string;
}

export interface MapEdge {
  from: string;
  to: string;
  /** `event`: one emits what the other listens to. `call`: one calls or runs the other. */
  kind: 'event' | 'call';
  /** Types of the events, those that are computed with `…` at their end; names of what is called in an app. */
  names: string[];
}

export interface WorkspaceMap {
  nodes: MapNode[];
  edges: MapEdge[];
}

/** What a document uses of others, as the API lists it. */
export interface Uses {
  object: string;
  calls: { name: string }[];
  listens: { name: string }[];
  emits: string[];
  emitsLike: string[];
}

/** The type itself, and every pattern that it fits: those end in `.*`. */
function patternsOf(type: string): string[] {
  const patterns = [type];
  for (let dot = type.indexOf('.'); dot >= 0 && dot < type.length - 1; dot = type.indexOf('.', dot + 1)) patterns.push(`${type.slice(0, dot)}.*`);
  return patterns;
}

/** The map of documents. Names that do not exist lead nowhere: they are problems, which have their own list. */
export function mapOf(nodes: MapNode[], uses: Uses[]): WorkspaceMap {
  const known = new Set(nodes.map((node) => node.id));
  const edges = new Map<string, MapEdge>();
  const add = (from: string, to: string, kind: MapEdge['kind'], name?: string): void => {
    if (!known.has(from) || !known.has(to)) return;
    const key = `${kind} ${from}\n${to}`;
    if (!edges.has(key)) edges.set(key, { from, to, kind, names: [] });
    const { names } = edges.get(key)!;
    if (name !== undefined && !names.includes(name)) names.push(name);
  };
  /** The instance that the name of an automation or an event begins with; what is in the workspace itself is not looked for there. */
  const instanceOf = (name: string): string | undefined => {
    const instance = `imports/${name.split('.')[0]!}`;
    return name.includes('.') && known.has(instance) ? instance : undefined;
  };

  // Who listens, by the type or the pattern as it is written.
  const listening = new Map<string, Set<string>>();
  for (const { object, listens } of uses) {
    for (const { name } of listens) {
      listening.set(name, (listening.get(name) ?? new Set()).add(object));
      const instance = instanceOf(name);
      if (instance) add(instance, object, 'event', name);
    }
  }
  for (const { object, calls, emits, emitsLike } of uses) {
    for (const { name } of calls) {
      if (known.has(`automations/${name}`)) add(object, `automations/${name}`, 'call');
      else {
        const instance = instanceOf(name);
        if (instance) add(object, instance, 'call', name);
      }
    }
    for (const type of emits) {
      for (const pattern of patternsOf(type)) for (const listener of listening.get(pattern) ?? []) add(object, listener, 'event', type);
      const instance = instanceOf(type);
      if (instance) add(object, instance, 'event', type);
    }
    // A type that is computed: whoever listens to something that may be it.
    for (const prefix of emitsLike.filter(Boolean)) {
      for (const [name, listeners] of listening) {
        if (name.startsWith(prefix) || (name.endsWith('*') && prefix.startsWith(name.slice(0, -1)))) for (const listener of listeners) add(object, listener, 'event', `${prefix}…`);
      }
    }
  }
  return { nodes, edges: [...edges.values()] };
}

export interface View {
  /** Id of the only node that is shown with its neighbours. */
  focus: string;
  search: string;
  kinds: readonly MapEdge['kind'][];
  /** Documents that are connected to nothing are left out. */
  connectedOnly: boolean;
}

/** What is shown of a map, and which of its nodes were asked for: others are there as their neighbours. */
export function visiblePart(map: WorkspaceMap, { focus, search, kinds, connectedOnly }: View): WorkspaceMap & { asked: ReadonlySet<string> } {
  const wanted = search.trim().toLowerCase();
  let edges = map.edges.filter((edge) => kinds.includes(edge.kind));
  const named = new Set(wanted && !focus ? edges.filter((edge) => edge.names.some((name) => name.toLowerCase().includes(wanted))).flatMap((edge) => [edge.from, edge.to]) : []);
  const asked = new Set(
    map.nodes.filter((node) => (focus ? node.id === focus : !wanted || named.has(node.id) || `${node.slug} ${node.name}`.toLowerCase().includes(wanted))).map((node) => node.id),
  );
  if (focus || wanted) edges = edges.filter((edge) => asked.has(edge.from) || asked.has(edge.to));
  const connected = new Set(edges.filter((edge) => edge.from !== edge.to).flatMap((edge) => [edge.from, edge.to]));
  const nodes = map.nodes.filter((node) => connected.has(node.id) || (asked.has(node.id) && (!connectedOnly || focus === node.id)));
  const shown = new Set(nodes.map((node) => node.id));
  return { nodes, edges: edges.filter((edge) => shown.has(edge.from) && shown.has(edge.to)), asked };
}
