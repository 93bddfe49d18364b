import { useSyncExternalStore } from "react";

const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** An attribute of the page's root that this browser remembers. The first value is the default. */
function setting<Value extends string>(
  key: "theme" | "density",
  values: readonly [Value, ...Value[]],
) {
  const read = (): Value =>
    values.find((value) => value === document.documentElement.dataset[key]) ?? values[0];
  return {
    values,
    use: (): Value => useSyncExternalStore(subscribe, read),
    set: (value: Value): void => {
      const isDefault = value === values[0];
      if (isDefault) delete document.documentElement.dataset[key];
      else document.documentElement.dataset[key] = value;
      try {
        if (isDefault) localStorage.removeItem(key);
        else localStorage.setItem(key, value);
      } catch {
        // Without storage, the setting lasts until the user leaves the page.
      }
      for (const listener of listeners) listener();
    },
  };
}

/** The theme; `system` follows the operating system. */
export const theme = setting("theme", ["system", "light", "dark"]);

/** The height of rows in lists. */
export const density = setting("density", ["comfortable", "compact"]);
