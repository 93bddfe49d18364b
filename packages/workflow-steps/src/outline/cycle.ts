/** Which steps a step leads to. */
export type Edges = (id: string) => readonly string[];

/** Steps that lead to each other have one number, which is smaller than that of all who lead to them. */
export type Groups = ReadonlyMap<string, number>;

/** Groups steps so that two are together when each is reached from the other. Takes linear time. */
export function groupsOf(ids: Iterable<string>, edges: Edges): Groups {
  const groups = new Map<string, number>();
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  let count = 0;
  const lower = (id: string, value: number) => {
    if (value < (lowest.get(id) ?? Infinity)) lowest.set(id, value);
  };
  const close = (root: string) => {
    let id: string | undefined;
    do {
      id = open.pop();
      if (id !== undefined) groups.set(id, count);
    } while (id !== undefined && id !== root);
    count += 1;
  };
  const enter = (id: string) => {
    order.set(id, order.size);
    lower(id, order.size - 1);
    open.push(id);
    return { id, targets: edges(id), at: 0 };
  };
  for (const start of ids) {
    if (order.has(start)) continue;
    const walk = [enter(start)];
    for (let top = walk.at(-1); top; top = walk.at(-1)) {
      const target = top.targets[top.at++];
      if (target === undefined) {
        walk.pop();
        const low = lowest.get(top.id) ?? 0;
        if (low === order.get(top.id)) close(top.id);
        const parent = walk.at(-1);
        if (parent) lower(parent.id, low);
      } else if (!order.has(target)) walk.push(enter(target));
      else if (!groups.has(target)) lower(top.id, order.get(target) ?? 0);
    }
  }
  return groups;
}

/** The groups of more than one step, and the steps that lead to themselves; in the order of `groups`. */
export function cyclesOf(groups: Groups, edges: Edges): string[][] {
  const members = new Map<number, string[]>();
  for (const [id, group] of groups) {
    const list = members.get(group);
    if (list) list.push(id);
    else members.set(group, [id]);
  }
  return [...members.values()]
    .filter((ids) => ids.length > 1 || ids.some((id) => edges(id).includes(id)))
    .map((ids) => ids.toReversed());
}
