import { readdirSync } from "node:fs";
import { attempts, py, sh } from "./attempt.mjs";

const unshare = (flags) => () => {
  py(`must(libc.unshare(${flags}), "unshare")`);
  return "made a namespace";
};

attempts("namespace", {
  "of users": unshare(0x10000000),
  "of users and mounts": unshare(0x10020000),
  "of users and networks": unshare(0x50000000),
  "of users, by clone": () => {
    py(`
child = must(libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0), "clone")
if child == 0: os._exit(0)
os.waitpid(child, 0)`);
    return "made a namespace";
  },
  "of users, by clone3": () => {
    py(`
arguments = ctypes.create_string_buffer(struct.pack("QQQQQQQQ", 0x10000000, 0, 0, 0, 17, 0, 0, 0))
child = libc.syscall(435, arguments, 64)
if child == 0: os._exit(0)
must(child, "clone3")
os.waitpid(child, 0)`);
    return "made a namespace";
  },
  "of users, by unshare": () => {
    sh("unshare --user --map-root-user true");
    return "made a namespace";
  },
  "of mounts": unshare(0x00020000),
  "of networks": unshare(0x40000000),
  "of control groups": unshare(0x02000000),
  "of processes": unshare(0x20000000),
  "of the first process": () => {
    const got = py(`
entered = []
for name in os.listdir("/proc/1/ns"):
    try:
        fd = os.open("/proc/1/ns/" + name, os.O_RDONLY)
        must(libc.setns(fd, 0))
        entered.append(name)
    except OSError: pass
print(" ".join(entered))`);
    // Any entered namespace counts as an escape.
    return got === "" ? null : `entered ${got}`;
  },
  "of its parent (NS_GET_PARENT)": () => {
    py(`
fd = os.open("/proc/self/ns/pid", os.O_RDONLY)
parent = fcntl.ioctl(fd, 0xb702)
must(libc.setns(parent, 0), "setns")`);
    return "entered its parent's namespace";
  },
  "of its owner (NS_GET_USERNS)": () => {
    py(`
fd = os.open("/proc/self/ns/user", os.O_RDONLY)
parent = fcntl.ioctl(fd, 0xb702)
must(libc.setns(parent, 0), "setns")`);
    return "entered its parent's namespace";
  },
  "a mount in a new namespace": () => {
    py('os.makedirs("/tmp/m", exist_ok=True)\nmount(b"none", b"/tmp/m", b"tmpfs")');
    return "mounted";
  },
  "a folder mounted at another path": () => {
    py('mount(b"/usr", b"/workspace/work", None, 4096)');
    return "mounted";
  },
  "a mount by fsopen": () => {
    py(`
context = must(libc.syscall(430, b"tmpfs", 0), "fsopen")
must(libc.syscall(431, context, 6, None, None, 0), "fsconfig")
must(libc.syscall(432, context, 0, 0), "fsmount")`);
    return "mounted";
  },
  "a copy of a mount (open_tree)": () => {
    py('must(libc.syscall(428, -100, b"/", 1 | 0x8000), "open_tree")');
    return "copied a mount";
  },
  "the flags of a mount (mount_setattr)": () => {
    py(`
held = ctypes.create_string_buffer(struct.pack("QQQQ", 0, 1, 0, 0))
must(libc.syscall(442, -100, b"/usr", 0x8000, held, 32), "mount_setattr")`);
    return "changed a mount";
  },
  "an overlay file system": () => {
    sh(
      "mkdir -p /tmp/o/u /tmp/o/w /tmp/o/m && mount -t overlay o -o lowerdir=/usr,upperdir=/tmp/o/u,workdir=/tmp/o/w /tmp/o/m",
    );
    return "mounted";
  },
  "the rights of a setuid program": () => {
    const programs = ["su", "sudo", "mount", "newuidmap", "newgrp", "pkexec"];
    const got = [];
    for (const name of programs.filter((one) => readdirSync("/usr/bin").includes(one))) {
      try {
        sh(`printf '' | ${name === "newuidmap" ? "newuidmap $$ 0 0 1" : `${name} -c true`}`);
        got.push(name);
      } catch {
        // The program was refused or is missing.
      }
    }
    // If the step is already root in the sandbox, these programs change nothing.
    const { uid } = { uid: process.getuid() };
    return got.length === 0 || uid === 0 ? null : got.join(" ");
  },
  capabilities: () => {
    const text = sh("cat /proc/self/status");
    const held = /^Cap(Eff|Prm|Bnd|Amb):\s*0*[1-9a-f]/m.exec(text);
    return held === null ? null : held[0];
  },
  "privileges by a new program": () => {
    const [line] = sh("grep NoNewPrivs /proc/self/status").split("\n");
    return line.endsWith("1") ? null : line;
  },
});
