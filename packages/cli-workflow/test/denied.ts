/**
 * Runs a command whose processes get an error from system calls, through a kernel filter (seccomp):
 *
 *     bun denied.ts <errno> <call>,<call> <command> [<argument>...]
 */
import { dlopen, ptr } from "bun:ffi";

/** Numbers of system calls on x64 and arm64, by name. */
const calls: Record<string, [x64: number, arm64: number]> = {
  flock: [73, 32],
  fsync: [74, 82],
  fdatasync: [75, 83],
  seccomp: [317, 277],
};
const numberOf = (name: string): number => calls[name]?.[process.arch === "arm64" ? 1 : 0] ?? -1;

const [errno = "", names = "", ...command] = process.argv.slice(2);

// struct sock_filter {code, jt, jf, k}: seccomp(2), linux/filter.h. An instruction has 8 bytes.
const instruction = (code: number, jt: number, jf: number, k: number): number[] => [
  (jf << 24) | (jt << 16) | code,
  k,
];
const load = instruction(0x20, 0, 0, 0);
const refuse = (name: string): number[] => [
  ...instruction(0x15, 0, 1, numberOf(name)),
  ...instruction(0x06, 0, 0, 0x00050000 | Number(errno)),
];
const allow = instruction(0x06, 0, 0, 0x7fff0000);
const filter = Uint32Array.from([load, names.split(",").flatMap(refuse), allow].flat());
const program = new BigUint64Array([BigInt(filter.length / 2), BigInt(ptr(filter))]);

const { symbols } = dlopen("libc.so.6", {
  prctl: { args: ["i32", "u64", "u64", "u64", "u64"], returns: "i32" },
  syscall: { args: ["i64", "u64", "u64", "ptr"], returns: "i64" },
});
const noNewPrivileges = 38;
const setModeFilter = 1n;
const allThreads = 1n;
const isSet =
  symbols.prctl(noNewPrivileges, 1n, 0n, 0n, 0n) === 0 &&
  Number(symbols.syscall(BigInt(numberOf("seccomp")), setModeFilter, allThreads, ptr(program))) ===
    0;
if (!isSet) {
  console.error("no filter could be set");
  process.exit(99);
}
const { exitCode } = Bun.spawnSync(command, { stdio: ["inherit", "inherit", "inherit"] });
process.exit(exitCode);
