import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  renameSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { attempt, attempts, Done, py, sh, workFolder } from "./attempt.mjs";

const put = (path, text = "hostile\n") => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return new Done(`wrote ${path}`);
};
const own = fileURLToPath(new URL("../agent.mjs", import.meta.url));

attempts("write", {
  "a file of the home directory": ({ home }) => {
    appendFileSync(`${home}/.bashrc`, "hostile\n");
    return new Done("appended");
  },
  "a new file in the home directory": ({ home }) => put(`${home}/planted`),
  "a key for logins": ({ home }) => put(`${home}/.ssh/authorized_keys`),
  "a unit of the user's service manager": ({ home }) =>
    put(`${home}/.config/systemd/user/hostile.service`),
  "the login of the user's own agent": ({ home }) => put(`${home}/.claude/.credentials.json`),
  "the settings of the plan home": ({ planHome }) => put(`${planHome}/config.yaml`),
  "the allowed roots of mounts": ({ planHome }) => put(`${planHome}/mount-allowlist.json`),
  "a log of another thread": ({ log }) => {
    appendFileSync(log, '{"role":"hostile"}\n');
    return new Done("appended");
  },
  "a bundle in the storage root": ({ root }) => put(`${root}/bundles/hostile.esm.js`),
  "a job of cron": () => put("/etc/cron.d/hostile"),
  "a library for all programs": () => put("/etc/ld.so.preload"),
  "a program in /usr/local/bin": () => put("/usr/local/bin/hostile"),
  "a program of the system": () => {
    appendFileSync("/usr/bin/env", "");
    return "opened /usr/bin/env for writing";
  },
  "its own agent": () => {
    appendFileSync(own, "\n// hostile\n");
    return `changed ${own}`;
  },
  "the mode of its own agent": () => {
    chmodSync(own, 0o777);
    return `changed ${own}`;
  },
  "a folder above the project": () => put("/workspace/project/../../planted"),
  "the path of the project on the host": ({ project }) => put(`${project}/../planted`),
  "the project's folder, moved away": () => {
    renameSync("/workspace/project", "/workspace/moved");
    return "moved a mount";
  },
  "a read-only mount": () => {
    writeFileSync("/workspace/mounts/fixed/kept", "hostile\n");
    return "wrote";
  },
  "a read-only mount, by a link": () => {
    symlinkSync("/workspace/mounts/fixed/kept", `${workFolder}/to-fixed`);
    writeFileSync(`${workFolder}/to-fixed`, "hostile\n");
    return "wrote";
  },
  "a read-only mount, by a hard link": () => {
    linkSync("/workspace/mounts/fixed/kept", `${workFolder}/hard`);
    writeFileSync(`${workFolder}/hard`, "hostile\n");
    return "wrote";
  },
  "a read-only mount, by its descriptor": () => {
    const fd = openSync("/workspace/mounts/fixed/kept", "r");
    const again = openSync(`/proc/self/fd/${fd}`, "w");
    writeSync(again, "hostile\n");
    return "wrote";
  },
  "through the root of the first process": ({ home }) => put(`/proc/1/root${home}/planted`),
  "through the directory of the first process": ({ home }) =>
    put(`/proc/1/cwd/../../../../..${home}/planted`),
  "through the open descriptors": ({ home }) => {
    for (const fd of readdirSync("/proc/self/fd")) {
      try {
        const path = readlinkSync(`/proc/self/fd/${fd}`);
        if (path.startsWith("/") && !/^\/(dev|proc)\b/.test(path))
          put(`/dev/fd/${fd}/../../../../../../..${home}/planted`);
      } catch {
        // The descriptor is not a folder.
      }
    }
    return new Done("tried each");
  },
  "the root file system, remounted writable": ({ home }) => {
    sh("mount -o remount,rw /");
    return put(`${home}/planted`);
  },
  "/usr, remounted writable": () => {
    sh("mount -o remount,rw,bind /usr");
    put("/usr/local/bin/hostile");
    return "mounted /usr for writing";
  },
  "an unmounted mount": () => {
    sh("umount -l /workspace/mounts/fixed || umount -l /usr || umount -l /proc/sys");
    return "unmounted";
  },
  "another root by chroot": ({ home }) => {
    sh(`mkdir -p /tmp/c && cd /tmp/c && chroot . /bin/true`);
    return put(`${home}/planted`);
  },
  "another root by pivot_root": () => {
    sh("mkdir -p /tmp/p/old && pivot_root /tmp/p /tmp/p/old");
    return "changed the root";
  },
});

attempt("write", "a file by its inode number (open_by_handle_at)", () => {
  py(`
handle = struct.pack("IiII", 8, 1, 2, 0)
fd = call(304, os.open("/workspace/project", os.O_RDONLY), handle, os.O_RDONLY)
print(os.listdir(fd))`);
  return "opened the root of the file system by its number";
});

attempt("write", "a folder of another step of the run", ({ home, step }) => {
  const runs = `${home}/.cache/uncaged-workflow/runs`;
  const run = readdirSync(runs)[0];
  copyFileSync("/etc/passwd", `${runs}/${run}/homes/${step}/planted`);
  return "wrote";
});
