/*
 * The bare two-process script: starts `child.ts` and ends. Arguments: the bundle, the log, the prompt. Compiled, it
 * starts the compiled child beside it.
 */
const child = Bun.isStandaloneExecutable
  ? [process.execPath.replace(/parent$/, "child")]
  : [process.execPath, ...process.execArgv, `${import.meta.dir}/child.js`];
Bun.spawn([...child, ...process.argv.slice(2)], {
  stdio: ["ignore", "ignore", "inherit"],
  detached: true,
}).unref();
