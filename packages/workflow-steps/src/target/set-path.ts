import { isPlain } from "../expression/value.ts";
import { pathError, refusedSegment } from "./error.ts";

const farthest = 1_000_000;
const index = /^(?:0|[1-9]\d{0,14})$/;

/**
 * `root` with a new value at a path. Only the containers on the path are copied, `root` and all else
 * stay as they are: but for those in `owned`, which are changed in place, so that a value that grows
 * does not cost what it has become. The copies are put into it. What is null on the way becomes an array before a number, else an object; an array
 * that must grow is filled with null.
 *
 * Throws a `WorkflowError` (`PATH_REFUSED`): for a segment `__proto__`, `constructor` or `prototype`,
 * for a key in an array, for a text or a number in the way, and for an index more than 1,000,000 beyond
 * the array's end.
 *
 * @example setPath(null, ["a", 0, "b"], 1) // { a: [{ b: 1 }] }
 */
export function setPath(
  root: unknown,
  path: readonly (string | number)[],
  newValue: unknown,
  owned?: WeakSet<object>,
): unknown {
  const containers: (unknown[] | Record<string, unknown>)[] = [];
  let value = root;
  for (const [depth, segment] of path.entries()) {
    if (refusedSegment(segment)) throw pathError(path, `the key ${segment} is refused`);
    const container = containerAt(value, path, depth, owned);
    containers.push(container);
    value = under(container, segment);
  }
  return containers.reduceRight<unknown>((below, container, depth) => {
    const segment = path[depth] ?? "";
    owned?.add(container);
    if (Array.isArray(container)) place(container, indexIn(container, path, depth), below);
    else container[segment] = below;
    return container;
  }, newValue);
}

/** What stands at `path` up to `depth`, able to hold the segment there: a copy where it is not owned. */
function containerAt(
  value: unknown,
  path: readonly (string | number)[],
  depth: number,
  owned: WeakSet<object> | undefined,
): unknown[] | Record<string, unknown> {
  const existing = value ?? (typeof path[depth] === "number" ? [] : {});
  if (Array.isArray(existing)) {
    indexIn(existing, path, depth);
    return owned?.has(existing) ? existing : existing.slice();
  }
  if (isPlain(existing)) return owned?.has(existing) ? existing : { ...existing };
  const at = depth === 0 ? "at its beginning" : `at ${path.slice(0, depth).join(".")}`;
  throw pathError(
    path,
    `${at} stands a value of type ${typeof existing}, which has no keys to write to`,
  );
}

function indexIn(array: unknown[], path: readonly (string | number)[], depth: number): number {
  const segment = path[depth] ?? "";
  const at = typeof segment === "string" && index.test(segment) ? Number(segment) : segment;
  if (typeof at !== "number" || !Number.isSafeInteger(at) || at < 0) {
    throw pathError(path, `${JSON.stringify(segment)} is no index of an array`);
  }
  if (at <= array.length + farthest) return at;
  throw pathError(path, `the index ${at} is over ${farthest} beyond the array's ${array.length}`);
}

const under = (
  container: unknown[] | Record<string, unknown>,
  segment: string | number,
): unknown =>
  Object.hasOwn(container, segment) ? (container as Record<string, unknown>)[segment] : undefined;

// A hole would be null in JSON, and is none before: so it is filled.
function place(array: unknown[], at: number, value: unknown): void {
  while (array.length < at) array.push(null);
  array[at] = value;
}
