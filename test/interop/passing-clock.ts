/** Loaded before a server: each SIGUSR2 lets more time pass on its watch than a session of a Box client may idle. */
const PASSED_MS = 400_000
const { now } = Date
let passedMs = 0
Date.now = () => now() + passedMs
process.on('SIGUSR2', () => void (passedMs += PASSED_MS))
