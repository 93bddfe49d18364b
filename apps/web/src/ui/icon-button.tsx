import type { ComponentProps } from "react";
import { Button } from "./button.tsx";

type Props = Omit<ComponentProps<typeof Button>, "children"> & {
  /** The accessible name. */
  label: string;
};

/** A small button with only an icon. */
export const IconButton = ({ label, ...rest }: Props) => (
  <Button look="quiet" small aria-label={label} {...rest} />
);
