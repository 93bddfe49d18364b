/*
 * How soon code is compiled. What a process does once, while it begins, is over before that pays, and the compiler's
 * thread would only slow down what it and the others do meanwhile.
 */

/** How many times more often than usual code must run before it is compiled, in a process that begins. */
const late = 16;

/** Has code compiled late, until {@link compileAsUsual}. */
export const compileLate = (): void => setPolicy(late);

/** Has code compiled as soon as usual. */
export const compileAsUsual = (): void => setPolicy(1);

function setPolicy(times: number): void {
  // A Bun that is found on the PATH may be too old for it.
  const { setJITPolicy }: Partial<typeof Bun.unsafe> = Bun.unsafe;
  setJITPolicy?.(times);
}
