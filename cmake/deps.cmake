# WEFT_DEPS: the cache that cmake/bootstrap.sh fills; the same default as there.
if(DEFINED ENV{WEFT_DEPS})
  set(_deps $ENV{WEFT_DEPS})
elseif(DEFINED ENV{XDG_CACHE_HOME})
  set(_deps $ENV{XDG_CACHE_HOME}/weft)
else()
  set(_deps $ENV{HOME}/.cache/weft)
endif()
set(WEFT_DEPS ${_deps} CACHE PATH "what cmake/bootstrap.sh built")
