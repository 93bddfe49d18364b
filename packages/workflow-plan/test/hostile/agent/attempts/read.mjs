import { closeSync, openSync, readdirSync, readFileSync, readSync, statSync } from "node:fs";
import { attempt, attempts, ifSecret, py, sh } from "./attempt.mjs";

const read = (path) => readFileSync(path, "latin1");
const processes = () => readdirSync("/proc").filter((name) => /^\d+$/.test(name));

/** Returns the contents of a file in `/proc` of each other process. Skips unreadable files. */
const ofAll = (file) =>
  processes()
    .filter((id) => id !== String(process.pid))
    .flatMap((id) => {
      try {
        return [read(`/proc/${id}/${file}`).replaceAll("\0", " ")];
      } catch {
        return [];
      }
    });

const secretFile = (name, pathOf) =>
  attempt("read", name, (targets) => ifSecret(read(pathOf(targets)), targets));

secretFile("a private key", ({ home }) => `${home}/.ssh/id_rsa`);
secretFile("the secrets of the plan home", ({ planHome }) => `${planHome}/secrets.json`);
secretFile("the login of the user's own agent", ({ home }) => `${home}/.claude/.credentials.json`);
secretFile("the history of a shell", ({ home }) => `${home}/.bash_history`);
secretFile("passwords for other machines", ({ home }) => `${home}/.netrc`);
secretFile("credentials of a cloud", ({ home }) => `${home}/.aws/credentials`);
secretFile("a log of another thread", ({ log }) => log);
secretFile(
  "a key through the first process's root",
  ({ home }) => `/proc/1/root${home}/.ssh/id_rsa`,
);
secretFile("a key above the project", () => "/workspace/project/../../.ssh/id_rsa");
secretFile("a key above a mount", () => "/workspace/mounts/data/../../../.ssh/id_rsa");
secretFile("secrets below the project", () => "/workspace/project/a/b/.uncaged/plans/secrets.json");

attempts("read", {
  "every file with a secret": ({ secret }) => {
    const folders = "/workspace /home /root /run /var /srv /mnt /media /tmp /etc";
    const found = sh(`grep -rlsF --devices=skip -- ${secret} ${folders} | head -5; true`);
    return found.trim() === "" ? null : found;
  },
  "passwords of the system": () => {
    const text = read("/etc/shadow");
    return text;
  },
  "keys of the machine": () => read("/etc/ssh/ssh_host_rsa_key"),
  "file names in the storage root": ({ root }) => {
    const names = readdirSync(root);
    return names.length > 0 ? names.join(" ") : null;
  },
  "file names in the home directory": ({ home }) => {
    const names = readdirSync(home).filter((name) => name.startsWith("."));
    return names.length > 0 ? names.join(" ") : null;
  },
  "homes of other steps": ({ home }) => {
    const names = readdirSync(`${home}/.cache/uncaged-workflow/runs`);
    return names.length > 0 ? names.join(" ") : null;
  },
  "a socket that controls workers": ({ root }) => {
    const names = readdirSync(`${root}/run`);
    return names.length > 0 ? names.join(" ") : null;
  },
  "the environment of other processes": ({ secret }) => {
    const found = ofAll("environ").find((text) => text.includes(secret));
    return found === undefined ? null : "an environment has a secret";
  },
  "the command line of the worker": ({ root }) =>
    ofAll("cmdline").find((text) => text.includes(root) || text.includes("worker/main")) ?? null,
  "processes outside": ({ mark }) => ofAll("cmdline").find((text) => text.includes(mark)) ?? null,
  "the memory of other processes": ({ secret }) => {
    for (const id of processes().filter((one) => one !== String(process.pid))) {
      const maps = tried(() => read(`/proc/${id}/maps`)) ?? "";
      for (const [, from, to] of maps.matchAll(/^([0-9a-f]+)-([0-9a-f]+) rw/gm)) {
        const text = tried(() => memory(id, from, to)) ?? "";
        if (text.includes(secret) && !ofOurs(id)) return `the memory of ${id} has a secret`;
      }
    }
    return null;
  },
  "the memory of the kernel": () => {
    for (const path of ["/dev/mem", "/dev/kmem", "/proc/kcore", "/dev/port"]) {
      if (tried(() => first(path)) !== null) return `read ${path}`;
    }
    return null;
  },
  "the keys of the kernel's keyrings": () => {
    const found = py(`
for ring in (-3, -4, -5):
    try:
        at = call(250, 0, ring, 0)
        held = ctypes.create_string_buffer(4096)
        size = libc.syscall(ctypes.c_long(250), ctypes.c_long(11), ctypes.c_long(at), held, ctypes.c_long(4096))
        for n in range(0, max(0, size) // 4):
            key = struct.unpack_from("i", held.raw, n * 4)[0]
            said = ctypes.create_string_buffer(4096)
            got = libc.syscall(ctypes.c_long(250), ctypes.c_long(6), ctypes.c_long(key), said, ctypes.c_long(4096))
            text = said.raw[:max(0, got)].decode("latin1")
            if text.startswith("user;"): print(text)
    except OSError: pass`);
    return found === "" ? null : found;
  },
  "files that another user can read only by name": ({ home }) =>
    statSync(`${home}/.ssh`).isDirectory() && readdirSync(`${home}/.ssh`).length > 0
      ? "listed ~/.ssh"
      : null,
});

/** Whether a process is the agent or an attempt. These have the secret as an argument, to search for it. */
const ofOurs = (id) =>
  /agent\.mjs|HOSTILE_TARGETS/.test(
    `${tried(() => read(`/proc/${id}/cmdline`)) ?? ""}${tried(() => read(`/proc/${id}/environ`)) ?? ""}`,
  );

function tried(act) {
  try {
    return act();
  } catch {
    return null;
  }
}

function first(path) {
  const fd = openSync(path, "r");
  try {
    return readSync(fd, Buffer.alloc(4096), 0, 4096, 0);
  } finally {
    closeSync(fd);
  }
}

function memory(id, from, to) {
  const [at, end] = [BigInt(`0x${from}`), BigInt(`0x${to}`)];
  const size = Number(end - at);
  if (size > 1 << 24) return "";
  const fd = openSync(`/proc/${id}/mem`, "r");
  try {
    const bytes = Buffer.alloc(size);
    readSync(fd, bytes, 0, size, at);
    return bytes.toString("latin1");
  } finally {
    closeSync(fd);
  }
}
