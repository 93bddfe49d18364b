import { type ReactNode, useState } from "react";
import { Button } from "./button.tsx";

type Props<One> = {
  of: readonly One[];
  /** Number of items to show at first, and to add at each press. */
  atOnce: number;
  /** The text of the button, from the number of hidden items. */
  label: (left: number) => string;
  children: (shown: readonly One[]) => ReactNode;
};

/** The first items of a long list, and a button that shows more. */
export function More<One>({ of, atOnce, label, children }: Props<One>) {
  const [most, setMost] = useState(atOnce);
  return (
    <>
      {children(of.slice(0, most))}
      {of.length > most && (
        <Button className="self-start" onClick={() => setMost(most + atOnce)}>
          {label(of.length - most)}
        </Button>
      )}
    </>
  );
}
