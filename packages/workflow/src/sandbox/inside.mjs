import { spawn } from "node:child_process";
import {
  constants,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
} from "node:fs";
import { connect, createServer } from "node:net";
import { constants as system } from "node:os";
import { dirname } from "node:path";

/*
 * Runs inside a sandbox before the command. It compares the visible folders with those that the host opened, installs
 * the login, relays loopback connections to the proxy's socket, and runs the command to its end. In a container it ends
 * with its connection to the host. An attack on it stays inside the sandbox.
 *
 * `inside.mjs run <task.json> [argument…]` or `inside.mjs connect <socket> <host> <port>`.
 */
const [mode, ...args] = process.argv.slice(2);
if (mode === "connect")
  throughProxy(args[0], `${args[1]}:${args[2]}`, process.stdin, process.stdout);
else await run(JSON.parse(readFileSync(args[0], "utf8")), args.slice(1));

async function run(task, more) {
  const problem = replacedIn(task);
  if (problem !== null) {
    process.stderr.write(`${problem}\n`);
    process.exit(126);
  }
  for (const file of task.files) place(file);
  if (task.life !== null) await endWith(task.life);
  const env = { ...process.env };
  for (const name of task.unset) delete env[name];
  Object.assign(env, task.env);
  if (task.socket !== null) Object.assign(env, await relay(task));
  const [command, ...own] = task.command;
  const child = spawn(command, [...own, ...more], { cwd: task.cwd, env, stdio: "inherit" });
  // The process group gets the signal too, and the command decides when it ends.
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => undefined);
  child.on("error", (error) => {
    process.stderr.write(`${command}: ${error.message}\n`);
    process.exit(error.code === "ENOENT" ? 127 : 126);
  });
  child.on("exit", (code, signal) => process.exit(code ?? 128 + system.signals[signal]));
}

/** Copies a file to its path. Removes an earlier file there, and a file or link at the path of its directory. */
function place({ from, to }) {
  const folder = dirname(to);
  try {
    if (!lstatSync(folder, { throwIfNoEntry: false })?.isDirectory())
      rmSync(folder, { force: true });
    rmSync(to, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    copyFileSync(from, to, constants.COPYFILE_EXCL);
  } catch (error) {
    process.stderr.write(`${to} can't be written: ${error.message}\n`);
    process.exit(126);
  }
}

function replacedIn({ covered, shown }) {
  for (const { identity, to } of shown)
    if (identityOf(to) !== identity) return `${to} was replaced while the sandbox was set up`;
  for (const { identity, to } of covered)
    if (identityOf(to) === identity) return `${to} is visible and must not be`;
  const mounts = mountPoints();
  const places = new Map([
    ...shown.map(({ isWritable, to }) => [realpathSync(to), isWritable]),
    ...covered.map(({ to }) => [realpathSync(to), false]),
  ]);
  for (const to of places.keys()) if (!mounts.has(to)) return `${to} is not a mount point`;
  // Mounts below a covering mount are listed too, but can't be reached.
  for (const [at, isWritable] of mounts)
    if (isWritable && nearest(at, places) === false && identityOf(at) !== null)
      return `${at} can be written and must not be`;
  return null;
}

/** Returns the mount points, and whether each is writable. */
function mountPoints() {
  const lines = readFileSync("/proc/self/mountinfo", "utf8").trim().split("\n");
  return new Map(
    lines.map((line) => {
      const [, , , , at, options] = line.split(" ");
      const path = at.replace(/\\(\d{3})/g, (_, code) => String.fromCharCode(parseInt(code, 8)));
      return [path, !options.split(",").includes("ro")];
    }),
  );
}

/** Returns a map's value for a path, or for its nearest parent directory. */
function nearest(path, places) {
  const own = places.get(path);
  return own !== undefined || path === dirname(path) ? own : nearest(dirname(path), places);
}

/** Ends this process, and so the container, when a connection to the host ends. */
function endWith(path) {
  return new Promise((resolve) => {
    const host = connect(path, resolve);
    host.on("error", () => process.exit(126));
    host.on("close", () => process.exit(126));
    host.resume();
  });
}

function identityOf(path) {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return null;
  }
}

/** Listens on loopback for HTTP clients that use a proxy, and at each allowed loopback address. */
async function relay({ forwards, socket }) {
  const port = await listen(0, "127.0.0.1", (client) => joined(client, connect(socket)));
  for (const { host, port: own } of forwards)
    for (const address of ["127.0.0.1", "::1"])
      await listen(own, address, (client) =>
        throughProxy(socket, `${host}:${own}`, client, client),
      ).catch(() => undefined);
  const url = `http://127.0.0.1:${port}`;
  const names = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "http_proxy",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
  ];
  const direct = "localhost,127.0.0.1,::1";
  return {
    ...Object.fromEntries(names.map((name) => [name, url])),
    ...{ NO_PROXY: direct, no_proxy: direct, NODE_USE_ENV_PROXY: "1" },
  };
}

function listen(port, host, onClient) {
  return new Promise((resolve, reject) => {
    const server = createServer({ allowHalfOpen: true }, onClient);
    server.on("error", reject);
    server.listen(port, host, () => resolve(server.address().port));
  });
}

function joined(one, other) {
  one.on("error", () => other.destroy());
  other.on("error", () => one.destroy());
  one.pipe(other);
  other.pipe(one);
}

/** Connects a pair of streams with `target` through the proxy, if the proxy allows it. */
function throughProxy(socket, target, input, output) {
  const proxy = connect({ path: socket, allowHalfOpen: true });
  const end = () => {
    input.destroy?.();
    if (output !== process.stdout) output.destroy?.();
  };
  proxy.on("error", end);
  input.on("error", () => proxy.destroy());
  proxy.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
  let head = Buffer.alloc(0);
  const onData = (chunk) => {
    head = Buffer.concat([head, chunk]);
    const at = head.indexOf("\r\n\r\n");
    if (at < 0) return;
    proxy.off("data", onData);
    proxy.pause();
    const [status = ""] = head.toString("latin1", 0, at).split("\r\n", 1);
    if (!/^HTTP\/1\.[01] 200/.test(status)) {
      const said = head
        .subarray(at + 4)
        .toString()
        .trim();
      if (output === process.stdout)
        process.stderr.write(`${said.startsWith(target) ? said : `${target}: ${said}`}\n`);
      proxy.destroy();
      end();
      if (output === process.stdout) process.exit(1);
      return;
    }
    output.write(head.subarray(at + 4));
    input.pipe(proxy);
    proxy.pipe(output);
  };
  proxy.on("data", onData);
}
