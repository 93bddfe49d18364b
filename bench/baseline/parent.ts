/*
 * The bare two-process script: starts `child.ts` and ends. Arguments: the bundle, the log, the prompt.
 */
Bun.spawn(
  [process.execPath, ...process.execArgv, `${import.meta.dir}/child.js`, ...process.argv.slice(2)],
  {
    stdio: ["ignore", "ignore", "inherit"],
    detached: true,
  },
).unref();
