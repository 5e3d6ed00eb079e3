--- Functions that wait: coroutines that go on when an answer has come. Owns what becomes of their failures.
local words = require('backstitch.words')

local M = {}

---@class backstitch.Failure
---@field message string
---@field hint? string What to do next.
---@field kind? backstitch.FailureKind
---@field answer? backstitch.Plan

--- What a user calls off; nothing is said of it.
M.CALLED_OFF = setmetatable({}, {
  __tostring = function()
    return 'called off'
  end,
})

---@param failure any
---@return string
function M.sentence(failure)
  if type(failure) ~= 'table' or not failure.message then
    return tostring(failure)
  end
  -- the server names its own commands
  local hint = failure.hint
    and failure.hint:gsub('`backstitch%.(%l+)`', function(name)
      return ':Backstitch ' .. (name == 'timeline' and 'log' or name)
    end)
  return hint and ('%s. %s'):format((failure.message:gsub('%.$', '')), words.sentence(hint)) or failure.message
end

---@param failure any
local function say(failure)
  if failure == M.CALLED_OFF then
    return
  end
  vim.notify('backstitch: ' .. M.sentence(failure), vim.log.levels.ERROR)
end

--- Runs a function that may `await`. `done` hears of its end, with what went wrong or what it returned; without it a
--- failure is told to the user.
---@param fn async fun(): any
---@param done? fun(failure: any, result: any)
function M.run(fn, done)
  local thread = coroutine.create(fn)
  local function step(...)
    local ok, got = coroutine.resume(thread, ...)
    if not ok then
      -- a failure is a table; a text is a mistake in this plugin, and its place is worth knowing
      local failure = type(got) == 'string' and debug.traceback(thread, got) or got
      return (done or say)(failure, nil)
    end
    if coroutine.status(thread) == 'dead' then
      return done and done(nil, got)
    end
    local is_answered = false
    local begun, wrong = pcall(got, function(...)
      -- who answers twice would answer the next question, too
      if not is_answered then
        is_answered = true
        step(...)
      end
    end)
    if not begun and not is_answered then
      is_answered = true
      return (done or say)(wrong, nil)
    end
  end
  step()
end

--- Waits until `begin` calls back, and returns what it was called with.
---@async
---@param begin fun(back: fun(...))
function M.await(begin)
  return coroutine.yield(begin)
end

---@param failure backstitch.Failure
---@return never
function M.fail(failure)
  error(failure, 0)
end

--- As `vim.ui.select`. Who chooses nothing calls the task off.
---@generic T
---@async
---@param items T[]
---@param opts vim.ui.select.Opts
---@return T
function M.select(items, opts)
  local chosen = M.await(function(back)
    vim.ui.select(items, opts, vim.schedule_wrap(back))
  end)
  if chosen == nil then
    error(M.CALLED_OFF, 0)
  end
  return chosen
end

--- As `vim.ui.input`. Who types nothing calls the task off.
---@async
---@param opts table
---@return string
function M.input(opts)
  local typed = M.await(function(back)
    vim.ui.input(opts, vim.schedule_wrap(back))
  end)
  if typed == nil or typed == '' then
    error(M.CALLED_OFF, 0)
  end
  return typed
end

return M
