// Generated from the catalogues of the server: do not edit. BACKSTITCH_RENEW_TYPES=1 cargo nextest run -p backstitch-tests generated

/** Title of the lens that rewinds; the turn follows. */
export const REWIND_LENS = '⟲ rewind to here';

/** Title of the link in a hover that does the same. */
export const REWIND_LINK = 'Rewind to here';
