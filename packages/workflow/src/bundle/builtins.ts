/** Modules that a bundle may import with or without the prefix `node:`. */
const named = `
  assert assert/strict async_hooks buffer child_process cluster console constants crypto dgram
  diagnostics_channel dns dns/promises domain events fs fs/promises http http2 https inspector
  inspector/promises module net os path path/posix path/win32 perf_hooks process punycode
  querystring readline readline/promises repl stream stream/consumers stream/promises stream/web
  string_decoder sys timers timers/promises tls trace_events tty url util util/types v8 vm wasi
  worker_threads zlib`;
/** Modules that need the prefix `node:`. */
const prefixed = "sea sqlite test test/reporters";

const words = (text: string) => text.trim().split(/\s+/);
const builtins: ReadonlySet<string> = new Set([
  ...words(named).flatMap((name) => [name, `node:${name}`]),
  ...words(prefixed).map((name) => `node:${name}`),
]);

/**
 * Returns whether a bundle may import a module: only Node's built-in modules are allowed. The list is from
 * https://nodejs.org/docs/latest-v22.x/api/modules.html#built-in-modules. The runtime's own list depends on the
 * runtime: Bun's also has `bun:sqlite` and `ws`. With it, a bundle would be valid on one machine and invalid on
 * another.
 */
export const isBuiltin = (specifier: string): boolean => builtins.has(specifier);
