/* Mutations of JSON values that a faulty or newer platform may send. */

/** Returns a generator of numbers below 1, determined by a seed. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const others: readonly unknown[] = [
  ...[null, true, false, 0, -1, 1.5, 2 ** 53, 1e308, "", "x", "12", "\ud83d", [], [null], [[]]],
  ...[{}, { id: null }, { toNumber: 1 }, "__proto__", { length: -1 }, "🦉".repeat(3_000)],
];

type Place = { holder: Record<string, unknown>; key: string };

function placesIn(value: unknown, found: Place[] = []): Place[] {
  if (typeof value !== "object" || value === null) return found;
  const holder = value as Record<string, unknown>;
  for (const key of Object.keys(holder)) {
    found.push({ holder, key });
    placesIn(holder[key], found);
  }
  return found;
}

/** Returns a copy of a value with one to three fields dropped, made null, retyped, duplicated, reordered or moved. */
export function mutated<T>(value: T, seed: number): T {
  const random = randomOf(seed);
  const pick = <One>(of: readonly One[]): One => of[Math.floor(random() * of.length)] as One;
  const whole = { value: structuredClone(value) };
  for (let times = 1 + Math.floor(random() * 3); times > 0; times -= 1) {
    const { holder, key } = pick(placesIn(whole).filter(({ holder: at }) => at !== whole));
    const mutations: (() => void)[] = [
      () => delete holder[key],
      () => (holder[key] = null),
      () => (holder[key] = structuredClone(pick(others))),
      () => (holder[key] = [holder[key], structuredClone(holder[key])]),
      () => (holder[key] = JSON.stringify(holder[key] ?? null)),
      () => (holder[key] = structuredClone(pick(placesIn(whole)).holder)),
      () => {
        const entries = Object.entries(holder).toReversed();
        for (const [one] of entries) delete holder[one];
        Object.assign(holder, Object.fromEntries(entries));
      },
      () => (holder[`${key}_2`] = holder[key]),
    ];
    pick(mutations)();
    if (placesIn(whole).length < 3) break;
  }
  return whole.value;
}
