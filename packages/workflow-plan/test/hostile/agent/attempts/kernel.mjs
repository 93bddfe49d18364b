import { closeSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { attempt, attempts, py, sh, workFolder } from "./attempt.mjs";

/** Returns the files below a folder that open for writing. Writes nothing. */
function writable(folder, most = 5) {
  const found = [];
  const visit = (path) => {
    let entries = [];
    try {
      entries = readdirSync(path, { withFileTypes: true });
    } catch {
      return;
    }
    for (const entry of entries) {
      if (found.length >= most) return;
      const inner = `${path}/${entry.name}`;
      if (entry.isDirectory()) visit(inner);
      else if (entry.isFile()) {
        try {
          closeSync(openSync(inner, "r+"));
          found.push(inner);
        } catch {
          // The open was refused.
        }
      }
    }
  };
  visit(folder);
  return found.length === 0 ? null : `opened for writing: ${found.join(" ")}`;
}

const same = (path) => () => {
  const before = readFileSync(path, "utf8");
  writeFileSync(path, before);
  return `wrote ${path}`;
};

attempts("kernel", {
  "the program for core dumps": same("/proc/sys/kernel/core_pattern"),
  "the settings of the kernel": () => writable("/proc/sys"),
  "the settings of the kernel, by another /proc": () => {
    sh(
      "mkdir -p /tmp/proc && mount -t proc proc /tmp/proc && test -w /tmp/proc/sys/kernel/core_pattern",
    );
    return "mounted /proc";
  },
  "the settings of the kernel, below the first process's root": () =>
    writable("/proc/1/root/proc/sys"),
  "the settings of the kernel, by sysctl": () => {
    sh("sysctl -w kernel.core_pattern=$(cat /proc/sys/kernel/core_pattern)");
    return "set kernel.core_pattern";
  },
  "the program that loads modules": same("/proc/sys/kernel/modprobe"),
  "the program for hotplug events": same("/proc/sys/kernel/hotplug"),
  "an interpreter for a binary format": () => {
    writeFileSync("/proc/sys/fs/binfmt_misc/register", ":hostile:M::hostile::/bin/true:\n");
    return "registered a format";
  },
  "forwarding of packets": same("/proc/sys/net/ipv4/ip_forward"),
  "the magic SysRq key": () => {
    closeSync(openSync("/proc/sysrq-trigger", "w"));
    return "opened /proc/sysrq-trigger for writing";
  },
  "interrupts, memory types and the log": () => {
    for (const path of ["/proc/irq/default_smp_affinity", "/proc/mtrr", "/proc/acpi/wakeup"]) {
      try {
        closeSync(openSync(path, "w"));
        return `opened ${path} for writing`;
      } catch {
        // The open was refused.
      }
    }
    return null;
  },
  "the OOM score of the first process": () => {
    const before = readFileSync("/proc/1/oom_score_adj", "utf8");
    writeFileSync("/proc/1/oom_score_adj", "-1000");
    return `it was ${before}`;
  },
  "/sys": () => writable("/sys"),
  "/sys, mounted again": () => {
    sh("mkdir -p /tmp/sys && mount -t sysfs sysfs /tmp/sys");
    return "mounted /sys";
  },
  "the helper of the kernel's events": () => {
    writeFileSync("/sys/kernel/uevent_helper", "/bin/true");
    return "wrote uevent_helper";
  },
  "a control group's release agent": () => {
    sh(
      "mkdir -p /tmp/cg && mount -t cgroup -o memory cgroup /tmp/cg && echo /bin/true > /tmp/cg/release_agent",
    );
    return "set the release agent";
  },
  "a control group's limits": () => {
    sh("mkdir -p /tmp/cg2 && mount -t cgroup2 none /tmp/cg2 && ls /tmp/cg2/cgroup.procs");
    return "mounted the control groups";
  },
  "the files of the step's control group": () => writable("/sys/fs/cgroup"),
  "a module": () => {
    py('call(313, os.open("/etc/passwd", os.O_RDONLY), b"", 0)');
    return "loaded a module";
  },
  "a program in the kernel (bpf)": () => {
    py(`
# BPF_MAP_CREATE: an array of one value.
attributes = struct.pack("IIIII", 2, 4, 4, 1, 0) + bytes(100)
held = ctypes.create_string_buffer(attributes)
must(libc.syscall(321, 0, held, len(attributes)), "bpf")`);
    return "made a map";
  },
  "counters of all processes (perf)": () => {
    py(`
attributes = ctypes.create_string_buffer(struct.pack("IIQ", 1, 120, 0) + bytes(104))
must(libc.syscall(298, attributes, -1, 0, -1, 0), "perf_event_open")`);
    return "opened a counter";
  },
  "page faults, handled by the step (userfaultfd)": () => {
    py('fd = must(libc.syscall(323, 0), "userfaultfd")');
    return "handled page faults of the kernel";
  },
  "the kernel's log": () => {
    const got = py(`
held = ctypes.create_string_buffer(1 << 16)
size = must(libc.klogctl(3, held, 1 << 16), "klogctl")
print(size)`);
    return Number(got) > 0 ? `read ${got} bytes` : null;
  },
  "the name of the machine": () => {
    py('must(libc.sethostname(b"hostile", 7))\nprint(socket.gethostname())');
    return null;
  },
  "a shutdown of the machine": () => {
    // LINUX_REBOOT_CMD_CAD_ON only changes the effect of Ctrl-Alt-Del.
    py("must(libc.reboot(0x89abcdef))");
    return "changed the effect of Ctrl-Alt-Del";
  },
  "quotas and swap": () => {
    py('call(167, b"/dev/null", 0)');
    return "made swap";
  },
});

attempt("device", "a new disk device", () => {
  sh("mknod /tmp/disk b 254 0 && head -c 512 /tmp/disk > /dev/null");
  return "read a disk";
});
attempts("device", {
  "existing disks and memory": () => {
    const known =
      /^(full|null|zero|random|urandom|tty|ptmx|pts|shm|fd|std(in|out|err)|core|console|mqueue)$/;
    const names = readdirSync("/dev").filter((name) => !known.test(name));
    return names.length === 0 ? null : names.join(" ");
  },
  "a device in a writable folder": () => {
    sh(`mknod ${workFolder}/mem c 1 1 && head -c 16 ${workFolder}/mem > /dev/null`);
    return "read memory";
  },
  "a new file system (fuse)": () => {
    closeSync(openSync("/dev/fuse", "r+"));
    return "opened /dev/fuse";
  },
  "a virtual machine": () => {
    closeSync(openSync("/dev/kvm", "r+"));
    return "opened /dev/kvm";
  },
  "a network device": () => {
    closeSync(openSync("/dev/net/tun", "r+"));
    return "opened /dev/net/tun";
  },
  "the terminal of the parent process": () => {
    closeSync(openSync("/dev/tty", "r+"));
    return "opened /dev/tty";
  },
  "typed input of a terminal (TIOCSTI)": () => {
    const got = py(`
done = []
for fd in range(0, 64):
    try:
        fcntl.ioctl(fd, 0x5412, b"\\n")
        done.append(fd)
    except OSError: pass
print(done or "")`);
    return got === "" ? null : got;
  },
  "the console": () => {
    closeSync(openSync("/dev/console", "r+"));
    return "opened /dev/console";
  },
  "a loop device": () => {
    closeSync(openSync("/dev/loop-control", "r+"));
    return "opened /dev/loop-control";
  },
});
