import { spawn, spawnSync } from "node:child_process";
import {
  accessSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";

/*
 * Runs inside a sandbox, tries to escape, and prints the openings as JSON: `{"open": [{"what", "detail"}]}`.
 * The argument is a JSON file with the targets: `{unwritable, unreadable, addresses, socket, isFiltered, mark}`.
 */
const targets = JSON.parse(readFileSync(process.argv[2], "utf8"));
const open = [];
const isOpen = (what, detail) => open.push({ what, detail });

for (const folder of targets.unwritable) {
  const path = join(folder, `.uncaged-self-test-${targets.mark}`);
  const done = attempt(() => writeFileSync(path, "", { flag: "wx" }));
  if (!done) continue;
  rmSync(path, { force: true });
  isOpen("write", folder);
}
for (const { identity, path } of targets.unreadable) {
  if (identity !== null && identity !== identityOf(path)) continue;
  const isFolder = attempt(() => statSync(path).isDirectory()) ?? false;
  const content = attempt(() => (isFolder ? readdirSync(path) : readFileSync(path)));
  if ((content?.length ?? 0) > 0) isOpen("read", path);
}
const settings = writable("/proc/sys");
if (settings !== null) isOpen("system settings", settings);
for (const path of [
  "/proc/sysrq-trigger",
  "/proc/kcore",
  "/dev/mem",
  "/dev/kmsg",
  "/dev/sda",
  "/dev/vda",
])
  if (!isMasked(path) && attempt(() => openSync(path, path === "/proc/kcore" ? "r" : "r+")))
    isOpen("devices", path);
if (attempt(() => readdirSync("/sys"))?.length) {
  const path = writable("/sys");
  if (path !== null) isOpen("system settings", path);
}
for (const name of readdirSync("/proc/self/fd")) {
  const path = attempt(() => readlinkSync(`/proc/self/fd/${name}`));
  if (Number(name) > 2 && path?.startsWith("/") && attempt(() => statSync(path).isDirectory()))
    if (!path.startsWith("/proc/")) isOpen("open folders", path);
}
const foreign = readdirSync("/proc").filter(
  (name) => /^\d+$/.test(name) && !isOwn(Number(name), new Set()),
);
if (foreign.length > 0) isOpen("processes of this machine", foreign.join(" "));
if (process.pid > 1000)
  isOpen("processes of this machine", `this process has the id ${process.pid}`);
if (/@/.test(attempt(() => readFileSync("/proc/net/unix", "utf8")) ?? ""))
  isOpen("sockets of this machine", "abstract Unix sockets");
if (existsSync("/usr/bin/unshare") && spawnSync("/usr/bin/unshare", ["-U", "true"]).status === 0)
  isOpen("user namespaces", "unshare");
if (targets.isFiltered && !/^Seccomp:\s*2$/m.test(readFileSync("/proc/self/status", "utf8")))
  isOpen("system calls", "no filter");
spawn("/bin/sh", ["-c", `sleep 60 # ${targets.mark}\ntrue`], {
  detached: true,
  stdio: "ignore",
}).unref();
const reached = await Promise.all(
  targets.addresses.flatMap((address) => [
    direct(address).then((is) => is && `${address}`),
    ...(targets.socket === null
      ? []
      : [proxied(address).then((is) => is && `${address} by the proxy`)]),
  ]),
);
for (const address of reached) if (address) isOpen("connect", address);
process.stdout.write(JSON.stringify({ open }), () => process.exit(0));

function attempt(act) {
  try {
    return act() ?? true;
  } catch {
    return null;
  }
}

function identityOf(path) {
  const stats = attempt(() => statSync(path, { bigint: true }));
  return stats && `${stats.dev}:${stats.ino}`;
}

/** Tells whether /dev/null hides a path, as in the containers of common engines. */
function isMasked(path) {
  return attempt(() => statSync(path).rdev === statSync("/dev/null").rdev) === true;
}

/** Returns the first file below a folder that can be opened for writing, or null. */
function writable(folder) {
  const entries = attempt(() => readdirSync(folder, { withFileTypes: true }));
  if (!Array.isArray(entries)) return null;
  for (const entry of entries) {
    const path = join(folder, entry.name);
    const found = entry.isDirectory()
      ? writable(path)
      : attempt(() => accessSync(path, constants.W_OK)) &&
        attempt(() => openSync(path, "r+")) &&
        path;
    if (found) return found;
  }
  return null;
}

/** Tells whether a process descends from the first process of this namespace. */
function isOwn(id, seen) {
  if (id === 1) return true;
  if (id === 0 || seen.has(id)) return false;
  const status = attempt(() => readFileSync(`/proc/${id}/status`, "utf8"));
  // The process has ended.
  if (typeof status !== "string") return true;
  return isOwn(Number(/^PPid:\s*(\d+)$/m.exec(status)?.[1] ?? 0), seen.add(id));
}

function direct(address) {
  const [, host, port] = /^(.*):(\d+)$/.exec(address);
  return answer(connect({ host: host.replace(/^\[|\]$/g, ""), port: Number(port) }), "connect");
}

async function proxied(address) {
  const socket = connect(targets.socket);
  socket.write(`CONNECT ${address} HTTP/1.1\r\nHost: ${address}\r\n\r\n`);
  const head = await answer(socket, "data");
  return /^HTTP\/1\.[01] 200/.test(String(head || ""));
}

function answer(socket, event) {
  return new Promise((resolve) => {
    const end = (value) => {
      resolve(value);
      socket.destroy();
    };
    socket.on(event, (value) => {
      if (socket.writable) socket.write(targets.mark);
      setTimeout(() => end(value ?? true), 20);
    });
    socket.on("error", () => end(false));
    socket.on("close", () => end(false));
    setTimeout(() => end(false), 3000).unref();
  });
}
