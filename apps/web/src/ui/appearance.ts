import { createAtom, useSelector } from "@tanstack/react-store";
import { store } from "../lib/stored.ts";

/** An attribute of the page's root, stored in this browser. The first value is the default. */
function setting<Value extends string>(
  key: "theme" | "density",
  values: readonly [Value, ...Value[]],
) {
  const { dataset } = document.documentElement;
  const current = createAtom(values.find((value) => value === dataset[key]) ?? values[0]);
  return {
    values,
    use: (): Value => useSelector(current),
    set: (value: Value): void => {
      const isDefault = value === values[0];
      if (isDefault) delete dataset[key];
      else dataset[key] = value;
      store(key, isDefault ? null : value);
      current.set(value);
    },
  };
}

/** The theme; `system` follows the operating system. */
export const theme = setting("theme", ["system", "light", "dark"]);

/** The height of rows in lists. */
export const density = setting("density", ["comfortable", "compact"]);
