import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/*
 * Container engines for tests. One is podman with an image of this machine's own files. The other is a script that
 * accepts an engine's arguments and starts bubblewrap with them; its image has the programs of this machine.
 */

const bubblewrap = Bun.which("bwrap");
// An allow-all filter of system calls, because an engine sets a filter: `BPF_RET | SECCOMP_RET_ALLOW`.
const allowAll = "\\006\\000\\000\\000\\000\\000\\377\\177";

const script = (image: string): string => `#!/bin/bash
case "$1" in
  --version) echo 'Docker version 0, scripted'; exit ;;
  image) [ "$3" = '${image}' ]; exit ;;
  run) shift ;;
  *) exit 1 ;;
esac
binds=() more=() wall=(--unshare-net)
while [ $# -gt 0 ]; do
  case "$1" in
    --mount)
      IFS=, read -r _ from to mode <<< "\${2//\\"/}"
      binds+=("$([ "$mode" = readonly ] && echo --ro-bind || echo --bind)" "\${from#source=}" "\${to#target=}"); shift ;;
    --env) case "$2" in *=*) more+=(--setenv "\${2%%=*}" "\${2#*=}") ;; esac; shift ;;
    --workdir) more+=(--chdir "$2"); shift ;;
    --network) [ "$2" = none ] || wall=(); shift ;;
    --entrypoint) program="$2"; shift ;;
    --rm|--interactive|--init|--read-only) ;;
    --*) shift ;;
    *) break ;;
  esac
  shift
done
shift
printf '${allowAll}' > '/tmp/uncaged-filter-'$$
exec 9< '/tmp/uncaged-filter-'$$
rm '/tmp/uncaged-filter-'$$
exec ${bubblewrap} --unshare-user --disable-userns --unshare-pid --unshare-ipc "\${wall[@]}" --die-with-parent --cap-drop ALL \\
  --seccomp 9 --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 \\
  --proc /proc --ro-bind /proc/sys /proc/sys --dev /dev --tmpfs /tmp "\${binds[@]}" --remount-ro / "\${more[@]}" \\
  -- "$program" "$@"
`;

/** Writes an engine that runs bubblewrap. */
export function scriptedEngine(path: string, image: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, script(image), { mode: 0o755 });
}

/**
 * Writes an engine that wraps another engine. `change` is shell code that reads each start argument in `$one`, and may
 * change it.
 */
export function changedEngine(path: string, behind: string, change: string): void {
  mkdirSync(dirname(path), { recursive: true });
  const text = `#!/bin/bash
[ "$1" = run ] || exec ${behind} "$@"
args=()
for one in "$@"; do
${change}
args+=("$one")
done
exec ${behind} "\${args[@]}"
`;
  writeFileSync(path, text, { mode: 0o755 });
}

const programs = "sh bash cat env id ls ln mkdir mv rm sleep touch true unshare".split(" ");

/** Writes the files of an image with a shell, which cannot run without the C library. */
function imageFiles(folder: string, hasLibraries: boolean): void {
  for (const name of ["usr/bin", "etc", "tmp", "proc", "sys", "dev", "workspace"])
    mkdirSync(join(folder, name), { recursive: true });
  symlinkSync("usr/bin", join(folder, "bin"));
  const copy = (from: string) => {
    mkdirSync(dirname(join(folder, from)), { recursive: true });
    copyFileSync(from, join(folder, from));
  };
  for (const name of programs) {
    const path = `/usr/bin/${name}`;
    copy(path);
    if (hasLibraries) for (const one of librariesOf(path)) copy(one);
  }
  if (hasLibraries) for (const one of librariesOf(process.execPath)) copy(one);
}

const librariesOf = (path: string): string[] =>
  spawnSync("/usr/bin/ldd", [path], { encoding: "utf8" }).stdout.match(/\/\S+/g) ?? [];

/** A podman with two images in its own storage, or the reason for its absence. */
export type Podman = { path: string; image: string; bare: string } | { missing: string };

const image = "uncaged-test-agent";
const bare = "uncaged-test-bare";

/** Prepares a podman installation that works on this machine, even in a container. */
export function preparedPodman(folder: string): Podman {
  const podman = Bun.which("podman");
  if (podman === null) return { missing: "podman is not installed" };
  const storage = `--root ${folder}/storage --runroot ${folder}/run --storage-driver vfs`;
  const run = (argv: string[]) => spawnSync("/bin/sh", argv, { encoding: "utf8" });
  const path = join(folder, "podman");
  for (const [name, hasLibraries] of [
    [image, true],
    [bare, false],
  ] as const) {
    imageFiles(join(folder, name), hasLibraries);
    const made = run([
      "-c",
      `tar -C ${folder}/${name} -c . | ${podman} ${storage} import - ${name}`,
    ]);
    if (made.status !== 0) return { missing: "podman can't create an image here" };
  }
  // Podman needs these options if limits cannot be raised, or the control groups are of version 1.
  for (const [runtime, limits] of [
    ["", ""],
    ["--runtime runc", ""],
    ["--runtime runc", "--ulimit nofile=1024:1024 --ulimit nproc=4096:4096"],
  ]) {
    const text = `#!/bin/sh\n[ "$1" = run ] || exec ${podman} ${storage} ${runtime} "$@"\nshift\nexec ${podman} ${storage} ${runtime} run ${limits} "$@"\n`;
    writeFileSync(path, text, { mode: 0o755 });
    const tried = run([path, "run", "--rm", "--init", "--network", "none", image, "/bin/true"]);
    if (tried.status === 0) return { path, image, bare };
  }
  return { missing: "podman can't run a container here" };
}
