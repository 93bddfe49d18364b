import { fstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { attempt, attempts, Done, py, sh } from "./attempt.mjs";

const listed = (path) => {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
};

/** Returns the open descriptors of a process with their targets. */
const opened = (id) =>
  listed(`/proc/${id}/fd`).flatMap((fd) => {
    try {
      return [{ fd, path: readlinkSync(`/proc/${id}/fd/${fd}`) }];
    } catch {
      return [];
    }
  });

const isOfHost = (path, { home, root }) =>
  [home, root].some((folder) => path === folder || path.startsWith(`${folder}/`));

attempts("descriptor", {
  "folders of the host": (targets) => {
    const found = opened("self").filter(({ path }) => isOfHost(path, targets));
    return found.length === 0 ? null : JSON.stringify(found);
  },
  "folders of the host, of other processes": (targets) => {
    const ids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    const found = ids.flatMap(opened).filter(({ path }) => isOfHost(path, targets));
    return found.length === 0 ? null : JSON.stringify(found.slice(0, 3));
  },
  "the parents of each open folder": ({ home }) => {
    const got = py(
      `
home = sys.argv[1]
ids = [name for name in os.listdir("/proc") if name.isdigit()]
for id in ids:
    try: names = os.listdir("/proc/" + id + "/fd")
    except OSError: continue
    for name in names + ["../cwd", "../root"]:
        try: fd = os.open("/proc/" + id + "/fd/" + name, os.O_RDONLY | os.O_DIRECTORY)
        except OSError: continue
        for n in range(40):
            try: fd = os.open("..", os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
            except OSError: break
        try: print(id, name, os.listdir(os.open(home[1:] + "/.ssh", os.O_RDONLY, dir_fd=fd)))
        except OSError: pass`,
      home,
    );
    return got === "" ? null : got;
  },
  "inherited sockets": () => {
    // Skips the standard streams, which may be sockets to the parent process.
    const found = opened("self").filter(({ fd, path }) => path.startsWith("socket:") && fd > 2);
    const own = opened(process.ppid).filter(({ path }) => found.some((one) => one.path === path));
    return own.length === 0 ? null : JSON.stringify(own);
  },
  "descriptors of the first process, by pidfd": () => {
    const got = py(`
pidfd = must(libc.syscall(434, 1, 0), "pidfd_open")
got = []
for n in range(0, 64):
    fd = libc.syscall(438, pidfd, n, 0)
    if fd >= 0: got.append(os.readlink("/proc/self/fd/%d" % fd))
outside = [path for path in got if path.startswith("/") and not path.startswith(("/dev", "/proc", "/usr", "/workspace"))]
print(" ".join(outside))`);
    return got === "" ? null : got;
  },
  "files of the host as standard streams": (targets) => {
    const found = opened("self").filter(
      ({ fd, path }) =>
        Number(fd) <= 2 && fstatSync(Number(fd)).isFile() && isOfHost(path, targets),
    );
    return found.length === 0 ? null : JSON.stringify(found);
  },
});

// Attaching stops the first process, which then can't end the step.
attempt(
  "trace",
  "of the first process",
  () => {
    py('must(libc.ptrace(16, 1, 0, 0), "ptrace")');
    return new Done("attached to the first process of the sandbox");
  },
  { needs: "end" },
);
attempts("trace", {
  "of an outside process, by its id": ({ pid }) => {
    py(`must(libc.ptrace(16, ${pid}, 0, 0), "ptrace")`);
    return "attached";
  },
  "the memory of an outside process": ({ pid }) => {
    py(`
class Part(ctypes.Structure): _fields_ = [("at", ctypes.c_void_p), ("size", ctypes.c_size_t)]
here = ctypes.create_string_buffer(64)
one, other = Part(ctypes.addressof(here), 64), Part(0x400000, 64)
must(libc.process_vm_readv(${pid}, ctypes.byref(one), 1, ctypes.byref(other), 1, 0), "process_vm_readv")`);
    return "read memory";
  },
  "a comparison with an outside process (kcmp)": ({ pid }) => {
    py(`must(libc.syscall(312, ${pid}, os.getpid(), 0, 0, 0), "kcmp")`);
    return "compared";
  },
  "the priority of an outside process": ({ pid }) => {
    py(`os.setpriority(os.PRIO_PROCESS, ${pid}, 19)`);
    return "changed a priority";
  },
  "the limits of an outside process": ({ pid }) => {
    sh(`prlimit --pid ${pid} --nofile=3:3`);
    return "changed limits";
  },
  "a higher priority of the step": () => {
    py("os.setpriority(os.PRIO_PROCESS, 0, -10)");
    return "raised its priority";
  },
  "the right of every process to attach to the step": () => {
    py('must(libc.prctl(0x59616d61, ctypes.c_ulong(-1), 0, 0, 0), "prctl")');
    return new Done("set its tracer");
  },
});

const numbers = ({ pid }) => [...Array.from({ length: 30 }, (_, n) => n + 2), pid, pid + 1];
const own = () => new Set([String(process.pid), String(process.ppid)]);

attempts("signal", {
  "to an outside process": ({ pid }) => {
    process.kill(pid, 0);
    const line = readFileSync(`/proc/${pid}/cmdline`, "utf8");
    if (line.includes("hostile-bystander")) process.kill(pid, "SIGKILL");
    return line.includes("hostile-bystander") ? "killed a bystander" : null;
  },
  "to an outside process, by its descriptor": ({ pid }) => {
    py(`
fd = must(libc.syscall(434, ${pid}, 0), "pidfd_open")
line = open("/proc/${pid}/cmdline").read()
assert "hostile-bystander" in line
must(libc.syscall(424, fd, 9, None, 0), "pidfd_send_signal")`);
    return "killed a bystander";
  },
});
attempt(
  "signal",
  "to all processes",
  () => {
    process.kill(-1, "SIGKILL");
    return new Done("killed all visible processes");
  },
  { needs: "end" },
);
attempt(
  "signal",
  "to the first process, the parent and low ids",
  (targets) => {
    for (const signal of ["SIGTERM", "SIGKILL"])
      for (const id of [1, ...numbers(targets), process.ppid]) {
        if (own().has(String(id)) && id !== process.ppid) continue;
        try {
          process.kill(id, signal);
        } catch {
          // The process does not exist.
        }
      }
    return new Done("sent each");
  },
  { needs: "end" },
);
attempt(
  "signal",
  "a stop of the process group",
  () => {
    setTimeout(() => undefined, 1000);
    py(`
me = os.getpid()
if os.fork() == 0:
    os.setsid()
    time.sleep(3)
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) not in (1, os.getpid()):
            try: os.kill(int(name), 9)
            except OSError: pass
    os._exit(0)
for n in (os.getpgid(os.getppid()), 0):
    try: os.killpg(n, 19)
    except OSError: pass`);
    return new Done("stopped its group for a while");
  },
  { needs: "end" },
);
