import { TraceMap, traceSegment } from "@jridgewell/trace-mapping";

/** Matches a declared name that Bun's bundler may have generated: `RateLimited2`, or `errors_default`. */
const renamed =
  /\b(?:class|function\*?|var|let|const) ?(?<declared>[\p{ID_Start}$_][\p{ID_Continue}$]*?(?:\d|_default\d*))(?![\p{ID_Continue}$])|,(?<listed>[\p{ID_Start}$_][\p{ID_Continue}$]*?(?:\d|_default\d*))(?==)/gu;
const identifier = /^[\p{ID_Start}$_][\p{ID_Continue}$]*/u;

/**
 * Returns a line of code for the end of a bundle that restores the names of classes and functions: `error.name` and
 * `retry.on` must see the author's names, but the bundler renames one of two equal names. Returns "" when the bundler
 * has renamed nothing.
 */
export function keptNames(code: string, map: string): string {
  const found = new Map<string, string>();
  const nameAt = originalNames(code, map);
  for (const { groups = {}, index, 0: text } of code.matchAll(renamed)) {
    const name = groups.declared ?? groups.listed ?? "";
    const original = nameAt(index + text.length - name.length);
    if (original === null || original === name) continue;
    // Don't restore a name that has different originals in several scopes.
    found.set(name, found.has(name) && found.get(name) !== original ? name : original);
  }
  const renames = [...found].filter(([name, original]) => name !== original);
  if (renames.length === 0) return "";
  const entries = renames.map(
    ([name, original]) =>
      `[typeof ${name}=="function"&&${name},${JSON.stringify(name)},${JSON.stringify(original)}]`,
  );
  // Don't replace a `name` that the class or function defines itself.
  return `for(const[value,from,name]of[${entries.join()}])if(value&&value.name===from&&Object.getOwnPropertyDescriptor(value,"name")?.writable===false)Object.defineProperty(value,"name",{value:name,configurable:true});\n`;
}

/** Returns a function that maps an offset to the identifier in the sources; null without an entry in the map. */
function originalNames(code: string, text: string): (offset: number) => string | null {
  const map = new TraceMap(text);
  const starts = [0];
  for (let at = code.indexOf("\n"); at >= 0; at = code.indexOf("\n", at + 1)) starts.push(at + 1);
  const sources = new Map<number, string[]>();
  let line = 0;
  // Callers must pass ascending offsets, because `line` only grows.
  return (offset) => {
    while ((starts[line + 1] ?? Number.POSITIVE_INFINITY) <= offset) line += 1;
    const column = offset - (starts[line] ?? 0);
    const segment = traceSegment(map, line, column);
    if (segment === null || segment.length === 1 || segment[0] !== column) return null;
    const [, source, row, start] = segment;
    const lines = sources.get(source) ?? map.sourcesContent?.[source]?.split("\n") ?? [];
    sources.set(source, lines);
    return identifier.exec(lines[row]?.slice(start) ?? "")?.[0] ?? null;
  };
}
